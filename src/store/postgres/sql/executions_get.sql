select {execution}, e.encoding, e.args, e.policy, t.name, l.queue
from semel.execution e
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane
where e.id = any ($2::uuid[]) and e.tenant = $1::integer
