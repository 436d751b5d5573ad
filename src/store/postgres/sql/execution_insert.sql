-- A fresh row with the fields almost every row has; the others are in execution_insert_full.
insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::text[], $6::text[], $7::integer[],
                     $8::integer[], $9::bytea[], $10::bigint[], $11::bigint[], $12::integer[])
