delete from semel.watch w
using (
  select t.place from unnest($1::uuid[], $2::uuid[], $3::integer[]) as u (target, run, command)
  cross join lateral (
    select x.ctid as place from semel.watch x
    where x.target = u.target and x.run = u.run and x.command = u.command limit 1) t) u
where w.ctid = u.place
