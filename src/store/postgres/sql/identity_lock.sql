select i.tenant, i.space, i.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at, i.revision
from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
join semel.identity i on i.tenant = u.tenant and i.space = u.space and i.key = u.key
for update of i
