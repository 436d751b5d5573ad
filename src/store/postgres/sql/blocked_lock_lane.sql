select b.lane, b.concurrency_key, b.priority, b.due_at, b.execution
from semel.blocked b
where b.lane = $1::integer
order by b.lane, b.concurrency_key, b.priority, b.due_at, b.execution
limit $2::integer
for update
