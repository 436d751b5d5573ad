select i.tenant, i.space, i.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at, i.revision
from semel.identity i where i.tenant = $1::integer and i.space = 2 and i.key = $2::text
