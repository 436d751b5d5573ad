delete from semel.ledger l
using (
  select t.place from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
  cross join lateral (
    select x.ctid as place from semel.ledger x
    where x.tenant = u.tenant and x.space = u.space and x.key = u.key) t
  where not exists (
    select 1 from semel.ledger_note n
    where n.tenant = u.tenant and n.space = u.space and n.key = u.key and n.at > $4::bigint)) u
where l.ctid = u.place
