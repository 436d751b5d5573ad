update semel.signal s set answer = u.answer
from unnest($1::uuid[], $2::text[], $3::text[], $4::bytea[]) as u (chain, name, dedupe, answer)
where s.chain = u.chain and s.name = u.name and s.dedupe = u.dedupe
