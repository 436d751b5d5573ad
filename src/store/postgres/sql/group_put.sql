insert into semel.grp (id, tenant, total, joined, ended, failed, completed, completion)
select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::boolean[],
                     $8::bytea[])
on conflict (id) do update set tenant = excluded.tenant, total = excluded.total, joined = excluded.joined,
  ended = excluded.ended, failed = excluded.failed, completed = excluded.completed, completion = excluded.completion
