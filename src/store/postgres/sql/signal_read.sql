select s.run, s.name, s.dedupe
from unnest($1::uuid[], $2::text[], $3::text[]) as u (run, name, dedupe)
cross join lateral (
  select * from semel.signal s where s.run = u.run and s.name = u.name and s.dedupe = u.dedupe limit 1) s
