with moved as (
  update semel.lane l
  set retention = u.retention, rate_count = u.rate_count, rate_per = u.rate_per, concurrency = u.concurrency,
      concurrency_per_key = u.concurrency_per_key, dead_letter = u.dead_letter, max_attempts = u.max_attempts,
      retry = u.retry, paused = u.paused, running_count = u.running_count, tokens_micro = u.tokens_micro,
      tokens_at = u.tokens_at, revision = u.revision
  from (select u.*, t.place from unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[], $6::integer[], $7::boolean[],
              $8::integer[], $9::bytea[], $10::boolean[], $11::integer[], $12::bigint[], $13::bigint[], $14::integer[])
    as u (id, retention, rate_count, rate_per, concurrency, concurrency_per_key, dead_letter, max_attempts, retry, paused,
          running_count, tokens_micro, tokens_at, revision)
    cross join lateral (select x.ctid as place from semel.lane x where x.id = u.id limit 1) t) u
  where l.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from moved), cardinality($1::integer[]), 'lane')
