-- A replica has no history of its own: null.
select m.created_at, m.generation, m.tableoid::bigint,
       (select c.system_identifier from pg_control_system() c),
       case when not pg_is_in_recovery()
            then ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::integer end,
       'semel_' || m.channel::text, m.seen_system, m.seen_timeline, m.seen_table, m.seen_generation
from semel.meta m
