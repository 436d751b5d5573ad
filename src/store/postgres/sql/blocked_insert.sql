insert into semel.blocked (lane, concurrency_key, priority, due_at, execution)
select * from unnest($1::integer[], $2::text[], $3::integer[], $4::bigint[], $5::uuid[])
