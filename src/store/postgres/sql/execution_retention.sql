-- A terminal row never changes, so it is read without a lock (a lock would dirty every page of the store on every
-- sweep); a live row that somebody holds is left out.
with seen as materialized (
  select e.id, e.status from semel.execution e
  where e.id > $1::uuid and e.id < $2::uuid
  order by e.id
  limit $3::integer
), live as materialized (
  select {execution} from semel.execution e
  where e.id = any (array(select id from seen where status < 4))
  for update skip locked
)
select * from live
union all
select {execution} from semel.execution e where e.id = any (array(select id from seen where status >= 4))
