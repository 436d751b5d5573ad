with gone as (
  delete from semel.key_slot k
  using unnest($1::integer[], $2::text[]) as u (lane, concurrency_key)
  where k.lane = u.lane and k.concurrency_key = u.concurrency_key
  returning 1
)
select semel.expect_rows((select count(*) from gone), cardinality($1::integer[]), 'key_slot')
