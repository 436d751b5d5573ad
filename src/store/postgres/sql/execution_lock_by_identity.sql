-- The executions that these ids point at: what a duplicate is answered with. An array, not a join: a join ordered by id
-- may be planned as a walk over all executions.
select {execution} from semel.execution e
where e.id = any (array(
  select i.target from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
  join semel.identity i on i.tenant = u.tenant and i.space = u.space and i.key = u.key))
order by e.id
for update
