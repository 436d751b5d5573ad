insert into semel.signal (run, name, dedupe)
select * from unnest($1::uuid[], $2::text[], $3::text[])
