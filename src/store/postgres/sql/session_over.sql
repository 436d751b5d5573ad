select s.id, s.worker, s.opened_at, s.expires_at
from semel.session s
where s.expires_at <= $1::bigint and not exists (select 1 from semel.lease l where l.session = s.id)
order by s.id
limit $2::integer
for update skip locked
