-- Ids and the executions they point at, of one snapshot and without locks: enough to answer a duplicate. Raises like
-- history_check, since it is sent without a transaction.
select i.tenant, i.space, i.key, i.target, i.target_kind, i.tombstone, i.fingerprint, i.expires_at, i.revision,
       {execution}
from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
cross join lateral (
  select * from semel.identity x where x.tenant = u.tenant and x.space = u.space and x.key = u.key limit 1) i
left join lateral (select * from semel.execution x where x.id = i.target limit 1) e on true
where ln((select count(*) from semel.meta m
          where m.one and m.created_at = $4::bigint and m.generation = $5::bigint and m.tableoid::bigint = $6::bigint)::float8) = 0
