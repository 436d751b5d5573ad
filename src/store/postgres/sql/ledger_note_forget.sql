delete from semel.ledger_note l
using (
  select t.place from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
  cross join lateral (
    select x.ctid as place from semel.ledger_note x
    where x.tenant = u.tenant and x.space = u.space and x.key = u.key and x.at <= $4::bigint) t) u
where l.ctid = u.place
