update semel.execution e
set status = 4, version = e.version + 1, last_end = 1, completed_at = $4::bigint, result = u.result, error = null,
    session = null, lease_expires_at = null
from unnest($1::uuid[], $2::integer[], $3::bytea[]) as u (id, version, result)
where e.id = u.id and e.version = u.version and e.status in (1, 2) and e.flags & $5::integer = 0
returning e.id
