insert into semel.payload (execution, encoding, args, policy)
select * from unnest($1::uuid[], $2::smallint[], $3::bytea[], $4::bytea[])
