-- Failed, timed out and dead-lettered executions are found from their own small table.
select {execution}, t.name, l.queue
from semel.attention a
join semel.execution e on e.id = a.execution
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane
where a.execution < $2::uuid and a.tenant = $1::integer and a.status = any ($4::smallint[])
  and ($3::smallint is null or e.kind = $3)
  and ($5::text is null or l.queue = $5)
  and ($6::text is null or e.name = $6)
  and ($7::text is null or e.identity = $7)
  and ($8::bigint is null or e.created_at < $8)
order by a.execution desc
limit $9::integer
