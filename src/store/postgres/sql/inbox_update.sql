update semel.inbox i set error = u.error
from (
  select u.error, t.place from unnest($1::bigint[], $2::text[]) as u (id, error)
  cross join lateral (select x.ctid as place from semel.inbox x where x.id = u.id limit 1) t) u
where i.ctid = u.place
