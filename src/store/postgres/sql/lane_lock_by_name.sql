select l.id, l.tenant, l.queue, l.retention, l.rate_count, l.rate_per, l.concurrency, l.concurrency_per_key, l.dead_letter,
       l.max_attempts, l.retry, l.paused, l.running_count, l.tokens_micro, l.tokens_at, l.revision
from unnest($1::integer[], $2::text[]) as u (tenant, queue)
cross join lateral (
  select * from semel.lane l where l.tenant = u.tenant and l.queue = u.queue limit 1 for update) l
