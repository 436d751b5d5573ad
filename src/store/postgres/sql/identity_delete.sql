with gone as (
  delete from semel.identity i
  using (
    select t.place
    from unnest($1::integer[], $2::smallint[], $3::text[], $4::integer[]) as u (tenant, space, key, read_revision)
    cross join lateral (
      select x.ctid as place from semel.identity x
      where x.tenant = u.tenant and x.space = u.space and x.key = u.key and x.revision = u.read_revision limit 1) t) u
  where i.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from gone), cardinality($1::integer[]), 'identity')
