select k.lane, k.concurrency_key, k.used
from unnest($1::integer[], $2::text[]) as u (lane, concurrency_key)
join semel.key_slot k on k.lane = u.lane and k.concurrency_key = u.concurrency_key
for update of k
