insert into semel.signal (chain, name, dedupe, mail, answer)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::bytea[])
