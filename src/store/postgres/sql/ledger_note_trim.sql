delete from semel.ledger_note n
using unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
where n.tenant = u.tenant and n.space = u.space and n.key = u.key
  and n.number <= (select o.number from semel.ledger_note o
                   where o.tenant = u.tenant and o.space = u.space and o.key = u.key
                   order by o.number desc offset $4::integer limit 1)
