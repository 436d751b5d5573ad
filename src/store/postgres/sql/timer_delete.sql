-- Gives way to whoever holds a row, as ready_delete does.
with wanted as materialized (
  select t.ctid as place
  from unnest($1::bigint[], $2::smallint[], $3::uuid[], $4::integer[]) as u (due_at, kind, execution, version)
  join semel.timer t on t.due_at = u.due_at and t.kind = u.kind and t.execution = u.execution and t.version = u.version
), gone as (
  delete from semel.timer
  where ctid = any (array(
    select t.ctid from semel.timer t where t.ctid = any (array(select place from wanted)) for update skip locked))
  returning 1
)
select semel.expect_free((select count(*) from gone), (select count(*) from wanted), 'timer')
