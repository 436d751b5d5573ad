insert into semel.ledger_note (tenant, space, key, rule, at, winner)
select * from unnest($1::integer[], $2::smallint[], $3::text[], $4::smallint[], $5::bigint[], $6::uuid[])
