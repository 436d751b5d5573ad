insert into semel.identity (tenant, space, key, target, target_kind, tombstone, fingerprint, expires_at, revision)
select * from unnest($1::semel.new_identity[])
on conflict do nothing
returning target
