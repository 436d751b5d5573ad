insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags, attempt_timeout, concurrency_key, idempotency_key,
                             idempotency_key_ttl_seconds, previous, parent_run, parent_workflow_id, group_id, timeout_at)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::text[], $6::text[], $7::integer[],
                     $8::integer[], $9::bytea[], $10::bigint[], $11::bigint[], $12::integer[], $13::bigint[], $14::text[],
                     $15::text[], $16::bigint[], $17::uuid[], $18::uuid[], $19::text[], $20::uuid[], $21::bigint[])
