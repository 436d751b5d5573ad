insert into semel.session (id, worker, opened_at, expires_at)
select * from unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[])
on conflict (id) do update set worker = excluded.worker, opened_at = excluded.opened_at, expires_at = excluded.expires_at
