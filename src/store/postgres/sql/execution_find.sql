select {execution}, e.encoding, e.args, e.policy, t.name, l.queue
from semel.identity i
join semel.execution e on e.id = i.target
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane
where i.tenant = $1::integer and i.space = $2::smallint and i.key = $3::text
