insert into semel.timer (due_at, kind, execution, version)
select * from unnest($1::bigint[], $2::smallint[], $3::uuid[], $4::integer[])
on conflict do nothing
