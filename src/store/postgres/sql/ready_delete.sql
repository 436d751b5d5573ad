-- A claim in flight holds its ready row and waits for an execution row that we hold. Waiting for it would be a deadlock,
-- so a row that is there and locked makes us give way.
with wanted as materialized (
  select r.ctid as place
  from unnest($1::integer[], $2::smallint[], $3::integer[], $4::bigint[], $5::uuid[])
    as u (lane, pool, priority, due_at, execution)
  cross join lateral (
    select x.ctid from semel.ready x
    where x.lane = u.lane and x.pool = u.pool and x.priority = u.priority and x.due_at = u.due_at
      and x.execution = u.execution
    limit 1) r
), gone as (
  delete from semel.ready
  where ctid = any (array(
    select r.ctid from semel.ready r where r.ctid = any (array(select place from wanted)) for update skip locked))
  returning 1
)
select semel.expect_free((select count(*) from gone), (select count(*) from wanted), 'ready')
