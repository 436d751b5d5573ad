with gone as (
  delete from semel.identity i
  using unnest($1::integer[], $2::smallint[], $3::text[], $4::integer[]) as u (tenant, space, key, read_revision)
  where i.tenant = u.tenant and i.space = u.space and i.key = u.key and i.revision = u.read_revision
  returning 1
)
select semel.expect_rows((select count(*) from gone), cardinality($1::integer[]), 'identity')
