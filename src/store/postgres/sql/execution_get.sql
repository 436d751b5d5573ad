select {execution}, p.encoding, p.args, p.policy, t.name, l.queue
from semel.execution e
join semel.payload p on p.execution = e.id
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane
where e.id = $2::uuid and e.tenant = $1::integer
