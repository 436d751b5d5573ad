-- The invariants between the tables: (id or null, what is broken) for each broken row.
select e.id, 'queued, but waits in ' || n || ' places instead of one'
from (
  select e.id,
    (select count(*) from semel.ready r where r.lane = e.lane and r.pool = (case when e.kind = 1 then 2 else (e.flags >> 16) & 1 end) and r.priority = e.priority
       and r.due_at = e.scheduled_at and r.execution = e.id)
    + (select count(*) from semel.timer t where t.due_at = e.scheduled_at and t.kind = 0 and t.execution = e.id and t.version = 0)
    + (select count(*) from semel.blocked b where b.lane = e.lane and b.concurrency_key = e.concurrency_key
       and b.priority = e.priority and b.due_at = e.scheduled_at and b.execution = e.id) as n
  from semel.execution e where e.status = 0 or (e.kind = 1 and e.session is null and (e.status = 2 or (e.status = 3 and e.suspend_reason = 1)))
) e where n <> 1
union all
select r.execution, 'has a ready row that does not fit it'
from semel.ready r left join semel.execution e on e.id = r.execution
where e.id is null or (e.status <> 0 and not (e.kind = 1 and e.status = 2 and e.session is null)) or e.lane <> r.lane or e.priority <> r.priority or e.scheduled_at <> r.due_at
  or (case when e.kind = 1 then 2 else (e.flags >> 16) & 1 end) <> r.pool
union all
select b.execution, 'has a blocked row that does not fit it'
from semel.blocked b left join semel.execution e on e.id = b.execution
where e.id is null or e.status <> 0 or e.lane <> b.lane or e.priority <> b.priority or e.scheduled_at <> b.due_at
  or e.concurrency_key is distinct from b.concurrency_key
union all
select t.execution, 'has a timer of kind ' || t.kind || ' that does not fit it'
from semel.timer t left join semel.execution e on e.id = t.execution
where (e.id is null and t.kind <> 3)
  or (t.kind = 0 and ((e.status <> 0 and not (e.kind = 1 and e.session is null and (e.status = 2 or (e.status = 3 and e.suspend_reason = 1)))) or e.scheduled_at <> t.due_at))
  or (t.kind = 1 and (e.status >= 4 or e.timeout_at is distinct from t.due_at))
  or (t.kind = 2 and (e.status not in (1, 2) or e.version <> t.version))
  or (t.kind = 3 and e.kind <> 1) or t.kind > 3
union all
select e.id, 'has a timeout but no timer for it'
from semel.execution e
where e.status < 4 and e.timeout_at is not null
  and not exists (select 1 from semel.timer t where t.due_at = e.timeout_at and t.kind = 1 and t.execution = e.id)
union all
select e.id, 'is terminal but still holds a lease, a slot or a count, or has no completed_at'
from semel.execution e
where e.status >= 4
  and (e.lease_expires_at is not null or e.session is not null or e.flags & 24 <> 0 or e.completed_at is null)
union all
select e.id, 'is claimed or running without lease, session, attempt or version'
from semel.execution e
where e.kind = 0 and e.status in (1, 2)
  and (e.lease_expires_at is null or e.session is null or e.attempt < 1 or e.version < 2 or e.completed_at is not null)
union all
select e.id, 'is claimed, but no lease record holds its version ' || e.version
from semel.execution e
where e.kind = 0 and e.status in (1, 2)
  and not exists (select 1 from semel.lease l, unnest(l.executions, l.versions) as u (execution, version)
                  where u.execution = e.id and u.version = e.version)
union all
select e.id, 'has a status, kind, tenant or queue that does not exist'
from semel.execution e
where e.status not between 0 and 8 or e.kind not in (0, 1)
  or not exists (select 1 from semel.tenant t where t.id = e.tenant)
  or not exists (select 1 from semel.lane l where l.id = e.lane and l.tenant = e.tenant)
union all
select e.id, 'has a reason to be suspended and is not'
from semel.execution e where e.suspend_reason <> 0 and (e.status <> 3 or e.session is not null)
union all
select i.target, 'is not what its id or key ' || quote_literal(i.key) || ' (space ' || i.space || ') should point at'
from semel.identity i left join semel.execution e on e.id = i.target
where i.space in (0, 1, 2) and not i.tombstone
  and (e.id is null or e.tenant <> i.tenant or e.kind <> i.target_kind
       or (i.space < 2 and (e.identity is distinct from i.key or e.kind <> i.space))
       or (i.space = 2 and e.idempotency_key is distinct from i.key))
union all
select i.target, 'has a tombstone ' || quote_literal(i.key) || ' that is no expiring key'
from semel.identity i where i.tombstone and (i.space <> 2 or i.expires_at is null)
union all
select e.id, 'is live but its id points elsewhere'
from semel.execution e
left join semel.identity i on i.tenant = e.tenant and i.space = e.kind and i.key = e.identity
where e.status < 4 and e.identity is not null and i.target is distinct from e.id
union all
select e.id, 'is live but its idempotency key points elsewhere'
from semel.execution e
left join semel.identity i on i.tenant = e.tenant and i.space = 2 and i.key = e.idempotency_key
where e.status < 4 and e.flags & 2 <> 0 and i.target is distinct from e.id
union all
select a.execution, 'has an attention row that does not fit it'
from semel.attention a left join semel.execution e on e.id = a.execution where e.status is distinct from a.status
union all
select e.id, 'ended badly but has no attention row'
from semel.execution e
where e.status in (5, 7, 8) and not exists (select 1 from semel.attention a where a.execution = e.id)
union all
select null, 'key slot ' || quote_literal(k) || ' of lane ' || lane || ' counts ' || counted || ', but ' || held || ' executions hold it'
from (
  select lane, k, sum(counted) as counted, sum(held) as held from (
    select lane, concurrency_key as k, used as counted, 0 as held from semel.key_slot
    union all
    select lane, concurrency_key, 0, 1 from semel.execution where flags & 8 <> 0
  ) both_sides group by lane, k
) slots where counted <> held
union all
select null, 'key slot ' || quote_literal(concurrency_key) || ' of lane ' || lane || ' is empty and should be gone'
from semel.key_slot where used <= 0
union all
select null, 'lane ' || l.id || ' counts ' || l.running_count || ' running, but ' || n || ' executions are counted in it'
from (select l.id, l.running_count,
             (select count(*) from semel.execution e where e.lane = l.id and e.flags & 16 <> 0) as n from semel.lane l) l
where l.running_count <> n
union all
select g.id, 'is a group whose counts do not add up'
from semel.grp g
where g.joined > g.total or g.ended > g.joined or g.failed > g.ended or (g.completed and g.ended < g.total)
union all
select e.id, 'is a workflow without a run row' from semel.execution e
where e.kind = 1 and not exists (select 1 from semel.run r where r.execution = e.id)
union all
select r.execution, 'has a run row that does not fit it' from semel.run r left join semel.execution e on e.id = r.execution
where e.kind is distinct from 1
  or r.events <> (select coalesce(sum(h.count), 0) from semel.history h where h.run = r.execution)
  or r.bytes <> (select coalesce(sum(length(h.events)), 0) from semel.history h where h.run = r.execution)
union all
select h.run, 'has a history with a gap before event ' || h.first from semel.history h
where h.first <> 1 and not exists (select 1 from semel.history b where b.run = h.run and b.first::bigint + b.count = h.first)
union all
select h.run, 'is gone but its history is there' from semel.history h
where not exists (select 1 from semel.run r where r.execution = h.run)
union all
select m.run, 'has mail, but is no run' from semel.mail m where not exists (select 1 from semel.run r where r.execution = m.run)
union all
select e.id, 'is a waiting run without owner, but has mail' from semel.execution e
where e.kind = 1 and e.status = 3 and e.session is null and e.suspend_reason = 0
  and exists (select 1 from semel.mail m where m.run = e.id)
