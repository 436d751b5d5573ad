-- identity_insert of one row: an array of one costs the server more than the row does.
insert into semel.identity (tenant, space, key, target, target_kind, tombstone, fingerprint, expires_at, revision)
values ($1::integer, $2::smallint, $3::text, $4::uuid, $5::smallint, $6::boolean, $7::bytea, $8::bigint, $9::integer)
