select i.tenant, i.space, i.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at, i.revision
from semel.identity i
where i.expires_at <= $1::bigint
order by i.expires_at, i.tenant, i.space, i.key
limit $2::integer
for update skip locked
