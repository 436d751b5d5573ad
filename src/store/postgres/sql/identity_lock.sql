-- Lateral, so that the ids lead and the table is probed, whatever the planner believes about its size.
select i.tenant, i.space, i.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at, i.revision
from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
cross join lateral (
  select * from semel.identity i where i.tenant = u.tenant and i.space = u.space and i.key = u.key limit 1 for update) i
