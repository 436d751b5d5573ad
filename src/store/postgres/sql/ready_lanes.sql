-- Hops from one (lane, pool) to the next: its cost is the number of lanes with work, not of ready rows.
with recursive hop (lane, pool) as (
  (select r.lane, r.pool from semel.ready r order by r.lane, r.pool, r.priority, r.due_at, r.execution limit 1)
  union all
  select n.lane, n.pool from hop h cross join lateral (
    select r.lane, r.pool from semel.ready r where (r.lane, r.pool) > (h.lane, h.pool)
    order by r.lane, r.pool, r.priority, r.due_at, r.execution limit 1) n
)
select lane, pool from hop
