insert into semel.run (execution, events, bytes, state, memo, attributes, chain)
select * from unnest($1::uuid[], $2::integer[], $3::bigint[], $4::bytea[], $5::text[], $6::text[], $7::uuid[])
on conflict (execution) do update set events = excluded.events, bytes = excluded.bytes, state = excluded.state
