select s.chain, s.name, s.dedupe, s.mail, s.answer
from unnest($1::uuid[], $2::text[], $3::text[]) as u (chain, name, dedupe)
cross join lateral (
  select * from semel.signal s where s.chain = u.chain and s.name = u.name and s.dedupe = u.dedupe limit 1) s
