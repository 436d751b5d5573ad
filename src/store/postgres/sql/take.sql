-- Locked ready rows are somebody else's. Claimed ones stay in the index until a vacuum: with $10..$12, the place that an
-- earlier claim reached, they are not walked through again. A claim that waits for its execution row wins or loses by that row's status.
-- A number that cannot grow is damage: it is seen when the row is read, and must not raise here.
-- A claim ($13) that has a record is repeated: it takes nothing more.
with gone as (
  delete from semel.ready
  where ctid = any (array(
    select r.ctid from semel.ready r
    where r.lane = $1::integer and r.pool = $2::smallint
      and (r.priority, r.due_at, r.execution) > ($10::integer, $11::bigint, $12::uuid)
      and not exists (select 1 from semel.lease l where l.id = $13::uuid)
    order by r.lane, r.pool, r.priority, r.due_at, r.execution
    limit $3::integer
    for update skip locked))
  returning execution
)
update semel.execution e
set status = 1 + e.kind, version = least(e.version, 2147483646) + 1, attempt = case when e.kind = 1 and e.started_at is not null then e.attempt else least(e.attempt, 2147483646) + 1 end, flags = (e.flags | $4::integer) & ~ $5::integer,
    started_at = case when e.kind = 1 and e.started_at is not null then e.started_at else $6::bigint end, lease_expires_at = $7::bigint, session = $8::uuid, worker = $9::text
where e.id = any (array(select execution from gone)) and (e.status = 0 or (e.kind = 1 and e.status = 2 and e.session is null))
returning {execution}, e.encoding, e.args, e.policy
