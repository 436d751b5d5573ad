insert into semel.key_slot (lane, concurrency_key, used) select * from unnest($1::integer[], $2::text[], $3::integer[])
