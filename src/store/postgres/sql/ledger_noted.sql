with recursive id as (
  (select n.tenant, n.space, n.key from semel.ledger_note n
   where (n.tenant, n.space, n.key) > ($1::integer, $2::smallint, $3::text)
   order by n.tenant, n.space, n.key limit 1)
  union all
  select t.tenant, t.space, t.key from id cross join lateral (
    select n.tenant, n.space, n.key from semel.ledger_note n
    where (n.tenant, n.space, n.key) > (id.tenant, id.space, id.key)
    order by n.tenant, n.space, n.key limit 1) t
)
select id.tenant, id.space, id.key, t.at from id cross join lateral (
  select max(n.at) as at from semel.ledger_note n
  where n.tenant = id.tenant and n.space = id.space and n.key = id.key) t
limit $4::integer
