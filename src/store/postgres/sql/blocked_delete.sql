-- Gives way to whoever holds a row, as ready_delete does.
with wanted as materialized (
  select b.ctid as place
  from unnest($1::integer[], $2::text[], $3::integer[], $4::bigint[], $5::uuid[])
    as u (lane, concurrency_key, priority, due_at, execution)
  cross join lateral (
    select x.ctid from semel.blocked x
    where x.lane = u.lane and x.concurrency_key = u.concurrency_key and x.priority = u.priority and x.due_at = u.due_at
      and x.execution = u.execution
    limit 1) b
), gone as (
  delete from semel.blocked
  where ctid = any (array(
    select b.ctid from semel.blocked b where b.ctid = any (array(select place from wanted)) for update skip locked))
  returning 1
)
select semel.expect_free((select count(*) from gone), (select count(*) from wanted), 'blocked')
