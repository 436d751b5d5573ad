insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags, encoding, policy, args, attempt_timeout, concurrency_key, idempotency_key,
                             idempotency_key_ttl_seconds, previous, parent_run, parent_workflow_id, group_id, timeout_at,
                             parent_command)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::text[], $6::text[], $7::integer[],
                     $8::integer[], $9::bytea[], $10::bigint[], $11::bigint[], $12::integer[], $13::smallint[], $14::bytea[],
                     $15::bytea[], $16::bigint[], $17::text[], $18::text[], $19::bigint[], $20::uuid[], $21::uuid[],
                     $22::text[], $23::uuid[], $24::bigint[], $25::integer[])
