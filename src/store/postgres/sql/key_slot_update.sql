with moved as (
  update semel.key_slot k set used = u.used
  from (
    select u.used, t.place from unnest($1::integer[], $2::text[], $3::integer[]) as u (lane, concurrency_key, used)
    cross join lateral (
      select x.ctid as place from semel.key_slot x
      where x.lane = u.lane and x.concurrency_key = u.concurrency_key limit 1) t) u
  where k.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from moved), cardinality($1::integer[]), 'key_slot')
