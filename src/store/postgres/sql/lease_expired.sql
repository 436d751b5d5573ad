select l.id, l.session, l.executions, l.versions
from semel.lease l
where not exists (select 1 from semel.session s where s.id = l.session and s.expires_at > $1::bigint)
order by l.id
limit $2::integer
for update skip locked
