-- A fresh row with the fields almost every row has; the others are in execution_insert_full.
insert into semel.execution (id, tenant, lane, kind, name, identity, priority, max_attempts, fingerprint, created_at,
                             scheduled_at, flags, encoding, policy, args)
select * from unnest($1::semel.new_execution[])
