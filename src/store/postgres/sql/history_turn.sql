-- Notes the history that this server is in. The first writer who meets another one than was noted before voids every
-- lease and session of that: their holders may have done work whose record is lost, or may be gone. A lease without a
-- session is returned by the next SessionsExpire (docs/rules.md). $1 system, $2 timeline, $3 table,
-- $4 generation.
with before as (
  select seen_system, seen_timeline, seen_table, seen_generation from semel.meta for update
), turned as (
  update semel.meta m
  set seen_system = $1::bigint, seen_timeline = $2::integer, seen_table = $3::bigint, seen_generation = $4::bigint,
      turned_at = case when b.seen_system is null then m.turned_at else (extract(epoch from clock_timestamp()) * 1000000)::bigint end,
      turned_from = case when b.seen_system is null then m.turned_from
                         else format('system %s, timeline %s, generation %s', b.seen_system, b.seen_timeline, b.seen_generation)
                    end
  from before b
  where (b.seen_system, b.seen_timeline, b.seen_table, b.seen_generation)
    is distinct from ($1::bigint, $2::integer, $3::bigint, $4::bigint)
  returning m.turned_from, b.seen_system is not null as from_another
), leases as (
  update semel.lease l set session = '00000000-0000-0000-0000-000000000000'
  where exists (select 1 from turned t where t.from_another) returning 1
), sessions as (
  update semel.session s set expires_at = 0 where exists (select 1 from turned t where t.from_another) returning 1
)
select t.turned_from, (select count(*) from leases), (select count(*) from sessions) from turned t where t.from_another
