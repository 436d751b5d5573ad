select t.due_at, t.kind, t.execution, t.version
from semel.timer t
where t.due_at <= $1::bigint
order by t.due_at, t.kind, t.execution, t.version
limit $2::integer
for update skip locked
