-- Only the owner of the run removes its mail, under the lock of the run's row.
with gone as (
  delete from semel.mail m
  using (
    select t.place from unnest($1::uuid[], $2::bigint[], $3::uuid[]) as u (run, at, id)
    cross join lateral (
      select x.ctid as place from semel.mail x where x.run = u.run and x.at = u.at and x.id = u.id limit 1) t) u
  where m.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from gone), cardinality($1::uuid[]), 'mail')
