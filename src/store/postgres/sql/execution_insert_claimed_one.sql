-- execution_insert_claimed of one row: an array of one costs the server more than the row does.
insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags, encoding, policy, args, status, version, attempt, started_at,
                             lease_expires_at, session, worker)
values ($1::uuid, $2::integer, $3::integer, $4::smallint, $5::text, $6::text, $7::integer, $8::integer, $9::bytea,
        $10::bigint, $11::bigint, $12::integer, $13::smallint, $14::bytea, $15::bytea, 1 + $4::smallint, 2, 1, $16::bigint,
        $17::bigint, $18::uuid, $19::text)
