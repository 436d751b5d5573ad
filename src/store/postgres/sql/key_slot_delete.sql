with gone as (
  delete from semel.key_slot k
  using (
    select t.place from unnest($1::integer[], $2::text[]) as u (lane, concurrency_key)
    cross join lateral (
      select x.ctid as place from semel.key_slot x
      where x.lane = u.lane and x.concurrency_key = u.concurrency_key limit 1) t) u
  where k.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from gone), cardinality($1::integer[]), 'key_slot')
