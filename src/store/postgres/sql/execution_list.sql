-- Walks the primary key downwards: newest first. An absent filter is null.
select {execution}, t.name, l.queue
from semel.execution e
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane
where e.tenant = $1::integer and e.id < $2::uuid
  and ($3::smallint is null or e.kind = $3)
  and ($4::smallint[] is null or e.status = any ($4))
  and ($5::text is null or l.queue = $5)
  and ($6::text is null or e.name = $6)
  and ($7::text is null or e.identity = $7)
  and ($8::bigint is null or e.created_at < $8)
order by e.id desc
limit $9::integer
