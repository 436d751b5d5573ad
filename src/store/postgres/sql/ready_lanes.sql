-- Hops from one (lane, alone) to the next: its cost is the number of lanes with work, not of ready rows.
with recursive hop (lane, alone) as (
  (select r.lane, r.alone from semel.ready r order by r.lane, r.alone, r.priority, r.due_at, r.execution limit 1)
  union all
  select n.lane, n.alone from hop h cross join lateral (
    select r.lane, r.alone from semel.ready r where (r.lane, r.alone) > (h.lane, h.alone)
    order by r.lane, r.alone, r.priority, r.due_at, r.execution limit 1) n
)
select lane, alone from hop
