insert into semel.attention (execution, tenant, lane, status, at, discarded_at, successor)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::smallint[], $5::bigint[], $6::bigint[], $7::uuid[])
on conflict (execution) do update set tenant = excluded.tenant, lane = excluded.lane, status = excluded.status,
  at = excluded.at, discarded_at = excluded.discarded_at, successor = excluded.successor
