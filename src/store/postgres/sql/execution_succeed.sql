-- The rows are probed one by one and met by their place: no statistics can turn this into a walk over the table.
-- A row that moves meanwhile (a heartbeat) is left to the decision, which locks it.
update semel.execution e
set status = 4, version = e.version + 1, last_end = 1, completed_at = $2::bigint, result = u.result, error = null,
    session = null, lease_expires_at = null
from (
  select u.result, t.place from unnest($1::semel.success[]) as u
  cross join lateral (
    select x.ctid as place from semel.execution x where x.id = u.execution and x.version = u.version limit 1) t) u
where e.ctid = u.place and e.kind = 0 and e.status in (1, 2) and e.flags & $3::integer = 0
returning e.id
