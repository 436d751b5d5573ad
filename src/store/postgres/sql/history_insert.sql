insert into semel.history (run, first, count, at, events)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::bigint[], $5::bytea[])
