-- The executions that these ids point at: what a duplicate is answered with. An array, not a join: a join ordered by id
-- may be planned as a walk over all executions.
select {execution} from semel.execution e
where e.id = any (array(
  select i.target from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
  cross join lateral (
    select target from semel.identity x where x.tenant = u.tenant and x.space = u.space and x.key = u.key limit 1) i))
order by e.id
for update
