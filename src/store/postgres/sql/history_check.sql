-- Raises 2201E (logarithm of zero) unless the connection still works in the history that it was opened in: the schema
-- was not made anew, and its generation is the same. $1 birth, $2 generation, $3 the table.
select ln((select count(*) from semel.meta m
           where m.one and m.created_at = $1::bigint and m.generation = $2::bigint and m.tableoid::bigint = $3::bigint)::float8)
