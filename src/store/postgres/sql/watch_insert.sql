insert into semel.watch (target, run, command)
select * from unnest($1::uuid[], $2::uuid[], $3::integer[])
on conflict do nothing
