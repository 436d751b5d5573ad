insert into semel.ready (lane, alone, priority, due_at, execution)
select * from unnest($1::integer[], $2::smallint[], $3::integer[], $4::bigint[], $5::uuid[])
