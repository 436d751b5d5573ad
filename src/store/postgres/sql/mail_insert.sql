insert into semel.mail (run, at, id, event)
select * from unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::bytea[])
