-- A row that is gone already was deleted by a sweep on another node: look again.
with gone as (
  delete from semel.execution e
  using unnest($1::uuid[], $2::integer[]) as u (id, read_version)
  where e.id = u.id and e.version = u.read_version
  returning e.id
), args as (
  delete from semel.payload p where p.execution = any (array(select id from gone))
)
select semel.expect_free((select count(*) from gone), cardinality($1::uuid[]), 'execution')
