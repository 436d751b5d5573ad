-- What keeps dead rows from being removed: $1 seconds of somebody's transaction; $2 dead rows are many. A role without
-- pg_monitor sees only its own sessions, but always the dead rows.
select format('a transaction of %s (pid %s, %s) has been open for %s s: no row that died since can be removed and claims get '
              'slower; end it, or select pg_terminate_backend(%s)', a.usename, a.pid,
              coalesce(nullif(a.application_name, ''), a.state), extract(epoch from clock_timestamp() - a.xact_start)::bigint, a.pid)
from pg_catalog.pg_stat_activity a
where a.datname = current_database() and a.backend_type = 'client backend' and a.pid <> pg_backend_pid()
  and (a.backend_xmin is not null or a.backend_xid is not null)
  and a.xact_start <= clock_timestamp() - make_interval(secs => $1::bigint)
union all
select format('the prepared transaction %L of %s is open since %s: no row that died since can be removed; commit or roll it back',
              p.gid, p.owner, p.prepared)
from pg_catalog.pg_prepared_xacts p
where p.database = current_database() and p.prepared <= clock_timestamp() - make_interval(secs => $1::bigint)
union all
select format('semel.%s holds %s dead rows beside %s live ones: is autovacuum on, and what keeps it from removing them?',
              t.relname, t.n_dead_tup, t.n_live_tup)
from pg_catalog.pg_stat_user_tables t
where t.schemaname = 'semel' and t.n_dead_tup > t.n_live_tup and t.n_dead_tup >= $2::bigint
