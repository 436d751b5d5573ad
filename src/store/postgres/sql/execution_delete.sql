-- A row that is gone already was deleted by a sweep on another node: look again.
with gone as (
  delete from semel.execution e
  using (
    select t.place from unnest($1::uuid[], $2::integer[]) as u (id, read_version)
    cross join lateral (
      select x.ctid as place from semel.execution x where x.id = u.id and x.version = u.read_version limit 1) t) u
  where e.ctid = u.place
  returning e.id
)
select semel.expect_free((select count(*) from gone), cardinality($1::uuid[]), 'execution')
