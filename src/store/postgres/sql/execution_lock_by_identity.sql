-- The executions that these ids point at: what a duplicate is answered with.
select {execution}
from unnest($1::integer[], $2::smallint[], $3::text[]) as u (tenant, space, key)
join semel.identity i on i.tenant = u.tenant and i.space = u.space and i.key = u.key
join semel.execution e on e.id = i.target
order by e.id
for update of e
