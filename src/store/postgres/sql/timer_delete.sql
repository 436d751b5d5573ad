-- Gives way to whoever holds a row, as ready_delete does.
with wanted as materialized (
  select t.ctid as place
  from unnest($1::bigint[], $2::smallint[], $3::uuid[], $4::integer[]) as u (due_at, kind, execution, version)
  cross join lateral (
    select x.ctid from semel.timer x
    where x.due_at = u.due_at and x.kind = u.kind and x.execution = u.execution and x.version = u.version
    limit 1) t
), gone as (
  delete from semel.timer
  where ctid = any (array(
    select t.ctid from semel.timer t where t.ctid = any (array(select place from wanted)) for update skip locked))
  returning 1
)
select semel.expect_free((select count(*) from gone), (select count(*) from wanted), 'timer')
