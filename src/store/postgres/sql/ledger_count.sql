insert into semel.ledger (tenant, space, key, rule, count)
select * from unnest($1::integer[], $2::smallint[], $3::text[], $4::smallint[], $5::bigint[])
on conflict (tenant, space, key, rule) do update set count = ledger.count + excluded.count
