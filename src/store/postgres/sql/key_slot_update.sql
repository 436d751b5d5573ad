with moved as (
  update semel.key_slot k set used = u.used
  from unnest($1::integer[], $2::text[], $3::integer[]) as u (lane, concurrency_key, used)
  where k.lane = u.lane and k.concurrency_key = u.concurrency_key
  returning 1
)
select semel.expect_rows((select count(*) from moved), cardinality($1::integer[]), 'key_slot')
