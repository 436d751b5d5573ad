select k.lane, k.concurrency_key, k.used
from unnest($1::integer[], $2::text[]) as u (lane, concurrency_key)
cross join lateral (
  select * from semel.key_slot k where k.lane = u.lane and k.concurrency_key = u.concurrency_key limit 1 for update) k
