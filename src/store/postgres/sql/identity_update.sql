with moved as (
  update semel.identity i
  set target = u.target, target_kind = u.target_kind, tombstone = u.tombstone, fingerprint = u.fingerprint,
      expires_at = u.expires_at, revision = u.revision
  from (select u.*, t.place from unnest($1::integer[], $2::smallint[], $3::text[], $4::uuid[], $5::smallint[], $6::boolean[], $7::bytea[],
              $8::bigint[], $9::integer[], $10::integer[])
    as u (tenant, space, key, target, target_kind, tombstone, fingerprint, expires_at, revision, read_revision)
    cross join lateral (
      select x.ctid as place from semel.identity x
      where x.tenant = u.tenant and x.space = u.space and x.key = u.key and x.revision = u.read_revision limit 1) t) u
  where i.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from moved), cardinality($1::integer[]), 'identity')
