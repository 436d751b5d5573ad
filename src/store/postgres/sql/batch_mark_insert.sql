-- Raises like history_check: a small batch is sent without one.
insert into semel.batch_mark (id, at)
select $1::uuid, $2::bigint
where ln((select count(*) from semel.meta m
          where m.one and m.created_at = $3::bigint and m.generation = $4::bigint and m.tableoid::bigint = $5::bigint)::float8) = 0
