select l.id, l.tenant, l.queue, l.retention, l.rate_count, l.rate_per, l.concurrency, l.concurrency_per_key, l.dead_letter,
       l.max_attempts, l.retry, l.paused, l.running_count, l.tokens_micro, l.tokens_at, l.revision,
       (select count(*) from (select 1 from semel.ready r where r.lane = l.id limit $2::bigint) as some_ready),
       (select count(*) from (select 1 from semel.blocked b where b.lane = l.id limit $2::bigint) as some_blocked)
from semel.lane l where l.id = $1::integer
