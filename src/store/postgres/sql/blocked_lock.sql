select b.lane, b.concurrency_key, b.priority, b.due_at, b.execution
from semel.blocked b
where b.lane = $1::integer and b.concurrency_key = $2::text
order by b.lane, b.concurrency_key, b.priority, b.due_at, b.execution
limit $3::integer
for update
