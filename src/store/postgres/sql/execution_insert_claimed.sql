-- Fresh rows that one claim took in the batch that made them.
insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags, encoding, policy, args, status, version, attempt, started_at,
                             lease_expires_at, session, worker)
select f.*, 1 + f.kind, 2, 1, $2::bigint, $3::bigint, $4::uuid, $5::text from unnest($1::semel.new_execution[]) f
