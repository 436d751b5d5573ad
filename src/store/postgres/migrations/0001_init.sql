-- The tables of the store. Columns are the fields of core/rows.h; the code reads them by name, never by position.
--
-- Instants and durations are microseconds (instants UTC since 1970), payloads bytes, statuses and kinds the numbers of
-- semel/status.h; the view `executions` prints words. Ids and names compare bytewise. No index stands on a column that
-- changes, except those that are null for almost every row. There are no foreign keys: the rules live in core, and
-- `verify` checks every reference.
--
-- Order of tables inside one transaction (a writer never goes back): batch_mark, identity, execution, ready,
-- blocked, timer, key_slot, lane, session, lease, grp, attention, inbox, ledger.

create schema if not exists semel;

create table semel.meta (
  one boolean primary key default true check (one),
  schema_version integer not null,
  min_binary integer not null,  -- the oldest binary (by the newest schema it knows) that may run on this schema
  generation bigint not null default 1,
  created_at bigint not null
);

create table semel.tenant (
  id integer primary key,
  name text collate "C" not null unique
);
insert into semel.tenant (id, name) values (1, 'default');

create table semel.lane (
  id integer primary key,
  tenant integer not null,
  queue text collate "C" not null,
  retention bigint,
  rate_count bigint,
  rate_per bigint,
  concurrency integer,
  concurrency_per_key integer,
  dead_letter boolean not null default false,
  max_attempts integer,
  retry bytea not null default '',
  paused boolean not null default false,
  running_count integer not null default 0,
  tokens_micro bigint not null default 0,
  tokens_at bigint,
  revision integer not null default 1,
  unique (tenant, queue)
) with (fillfactor = 50);

-- Its primary key is what makes an id unique.
create table semel.identity (
  target uuid not null,
  expires_at bigint,
  tenant integer not null,
  revision integer not null,
  space smallint not null,
  target_kind smallint not null,
  tombstone boolean not null,
  key text collate "C" not null,
  fingerprint bytea,
  primary key (tenant, space, key)
);
-- Set once, when the target ends; only idempotency keys are in it.
create index identity_expires on semel.identity (expires_at, tenant, space, key) where expires_at is not null;

-- Half of each page is left free: a claim of a whole page of rows, and later their ends, stay on the page (HOT) and
-- touch no index.
create table semel.execution (
  id uuid primary key,
  created_at bigint not null,
  scheduled_at bigint not null,
  timeout_at bigint,
  started_at bigint,
  completed_at bigint,
  cancel_requested_at bigint,
  lease_expires_at bigint,
  attempt_timeout bigint not null default 0,
  idempotency_key_ttl_seconds bigint not null default 0,
  tenant integer not null,
  lane integer not null,
  priority integer not null,
  max_attempts integer not null,
  version integer not null default 1,
  attempt integer not null default 0,
  flags integer not null default 0,
  kind smallint not null,
  status smallint not null default 0,
  last_end smallint not null default 0,
  close_reason smallint not null default 0,
  suspend_reason smallint not null default 0,
  session uuid,
  previous uuid,
  next uuid,
  parent_run uuid,
  group_id uuid,
  name text collate "C" not null,
  identity text collate "C",
  worker text,
  concurrency_key text collate "C",
  idempotency_key text collate "C",
  parent_workflow_id text collate "C",
  fingerprint bytea,
  result bytea,
  error bytea,
  progress bytea,
  -- The payload: in the row, so that an enqueue writes and a claim reads one row less. Large ones PostgreSQL keeps apart.
  encoding smallint not null,
  policy bytea not null,
  args bytea not null
) with (fillfactor = 50);

-- What is claimable now, in claim order. `alone` is 0 or 1.
create table semel.ready (
  lane integer not null,
  alone smallint not null,
  priority integer not null,
  due_at bigint not null,
  execution uuid not null,
  primary key (lane, alone, priority, due_at, execution)
);

create table semel.blocked (
  lane integer not null,
  concurrency_key text collate "C" not null,
  priority integer not null,
  due_at bigint not null,
  execution uuid not null,
  primary key (lane, concurrency_key, priority, due_at, execution)
);

create table semel.timer (
  due_at bigint not null,
  kind smallint not null,
  execution uuid not null,
  version integer not null,
  primary key (due_at, kind, execution, version)
);

create table semel.key_slot (
  lane integer not null,
  concurrency_key text collate "C" not null,
  used integer not null,
  primary key (lane, concurrency_key)
) with (fillfactor = 50);

create table semel.session (
  id uuid primary key,
  worker text not null,
  opened_at bigint not null,
  expires_at bigint not null
) with (fillfactor = 50);

create table semel.lease (
  id uuid primary key,
  session uuid not null,
  executions uuid[] not null,
  versions integer[] not null
);
create index lease_session on semel.lease (session);

-- `completion` is the execution and payload to insert when the last member ends (codec.h).
create table semel.grp (
  id uuid primary key,
  tenant integer not null,
  total integer not null,
  joined integer not null,
  ended integer not null,
  failed integer not null,
  completed boolean not null,
  completion bytea not null
) with (fillfactor = 50);

create table semel.attention (
  execution uuid primary key,
  tenant integer not null,
  lane integer not null,
  status smallint not null,
  at bigint not null,
  discarded_at bigint,
  successor uuid
);
create index attention_at on semel.attention (tenant, at);

create table semel.ledger (
  tenant integer not null,
  space smallint not null,
  key text collate "C" not null,
  rule smallint not null,
  count bigint not null,
  primary key (tenant, space, key, rule)
) with (fillfactor = 70);

create table semel.ledger_note (
  tenant integer not null,
  space smallint not null,
  key text collate "C" not null,
  number bigint generated always as identity,
  rule smallint not null,
  at bigint not null,
  winner uuid not null,
  primary key (tenant, space, key, number)
);

-- Enqueues written inside callers' own transactions. A row with an error is out of the feed.
create table semel.inbox (
  id bigint generated always as identity primary key,
  tenant text not null,
  request text not null,
  error text,
  written_at timestamptz not null default now()
);

create table semel.batch_mark (
  id uuid primary key,
  at bigint not null
);

-- Rows on their way in, many in one array. Binaries write the fields in this order: a new field makes a new type.
create type semel.new_identity as (
  tenant integer, space smallint, key text, target uuid, target_kind smallint, tombstone boolean, fingerprint bytea,
  expires_at bigint, revision integer
);
create type semel.new_execution as (
  id uuid, tenant integer, lane integer, kind smallint, name text, identity text, priority integer, max_attempts integer,
  fingerprint bytea, created_at bigint, scheduled_at bigint, flags integer, encoding smallint, policy bytea, args bytea
);
create type semel.new_ready as (lane integer, alone smallint, priority integer, due_at bigint, execution uuid);
create type semel.success as (execution uuid, version integer, result bytea);

-- Tables whose rows live for milliseconds: vacuum by count, not by share, and without pauses.
do $$
declare hot text;
begin
  foreach hot in array array['ready', 'timer', 'lease', 'blocked', 'key_slot', 'session', 'inbox'] loop
    execute format('alter table semel.%I set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
      autovacuum_vacuum_cost_delay = 0, autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 1000000000)', hot);
  end loop;
end $$;
alter table semel.execution set (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.2);
alter table semel.batch_mark set (autovacuum_vacuum_scale_factor = 0.1);

-- Assertions of the writer's statements. SM001: another writer was in the way, run the transaction again. SM002: a row
-- was not as it was read; only a defect does that.
create function semel.expect_rows(got bigint, wanted bigint, what text) returns void language plpgsql as $$
begin
  if got is distinct from wanted then
    raise exception 'semel: % of % rows: %', got, wanted, what using errcode = 'SM002';
  end if;
end $$;
create function semel.expect_free(got bigint, wanted bigint, what text) returns void language plpgsql as $$
begin
  if got is distinct from wanted then
    raise exception 'semel: % of % rows, others in use: %', got, wanted, what using errcode = 'SM001';
  end if;
end $$;

-- Finds or creates. Numbers are dense: whoever creates holds a lock until its transaction ends.
create function semel.tenant_ensure(wanted text[]) returns table (tenant_name text, created boolean) language plpgsql as $$
begin
  foreach tenant_name in array wanted loop
    created := false;
    perform 1 from semel.tenant t where t.name = tenant_name;
    if not found then
      perform pg_advisory_xact_lock(x'73656d656c01'::bigint);
      insert into semel.tenant (id, name)
        select coalesce(max(t.id), 0) + 1, tenant_name from semel.tenant t on conflict do nothing;
      created := found;
    end if;
    return next;
  end loop;
end $$;

create function semel.lane_ensure(tenants integer[], queues text[])
  returns table (lane_tenant integer, lane_queue text, created boolean) language plpgsql as $$
begin
  for i in 1 .. coalesce(cardinality(queues), 0) loop
    lane_tenant := tenants[i];
    lane_queue := queues[i];
    created := false;
    perform 1 from semel.lane l where l.tenant = lane_tenant and l.queue = lane_queue;
    if not found then
      perform pg_advisory_xact_lock(x'73656d656c02'::bigint);
      insert into semel.lane (id, tenant, queue)
        select coalesce(max(l.id), 0) + 1, lane_tenant, lane_queue from semel.lane l on conflict do nothing;
      created := found;
    end if;
    return next;
  end loop;
end $$;

-- Transactional enqueue for any language: the task exists iff the caller's transaction commits. `args` is kept byte for
-- byte. `options` holds further fields of POST /tasks, e.g. '{"priority": 5, "delay": "10s"}'. Returns the inbox row's id.
create function semel.enqueue(name text, args json default 'null', queue text default 'default',
                              task_id text default null, tenant text default 'default', options json default '{}')
  returns bigint language plpgsql as $$
declare
  fields text := '';
  taken text;
  written bigint;
begin
  if name is null or name = '' then
    raise exception 'semel.enqueue: name must not be empty' using errcode = '22023';
  end if;
  if options is not null and json_typeof(options) <> 'object' then
    raise exception 'semel.enqueue: options must be a JSON object' using errcode = '22023';
  end if;
  select k into taken from json_object_keys(coalesce(options, '{}')) k
    where k in ('name', 'args', 'queue', 'task_id', 'tenant') limit 1;
  if taken is not null then
    raise exception 'semel.enqueue: give % as an argument, not in options', taken using errcode = '22023';
  end if;
  select coalesce(string_agg(',' || to_json(o.key)::text || ':' || o.value::text, '' order by o.ordinality), '') into fields
    from json_each(coalesce(options, '{}')) with ordinality o;
  if task_id is not null then fields := ',"task_id":' || to_json(task_id)::text || fields; end if;
  insert into semel.inbox (tenant, request) values (coalesce(tenant, 'default'),
    '{"name":' || to_json(name)::text || ',"queue":' || to_json(coalesce(queue, 'default'))::text ||
    ',"args":' || coalesce(args, 'null')::text || fields || '}')
    returning id into written;
  return written;
end $$;

-- For people. Instants as timestamps, numbers as words, JSON results as text.
create view semel.executions as
select e.id as execution_id, t.name as tenant, l.queue, (array['task', 'workflow'])[e.kind + 1] as kind, e.name,
       coalesce(e.identity, e.id::text) as task_id,
       (array['queued', 'claimed', 'running', 'suspended', 'succeeded', 'failed', 'cancelled', 'timed_out',
              'dead_lettered'])[e.status + 1] as status,
       e.version, e.attempt, e.max_attempts, e.priority, e.worker,
       to_timestamp(e.created_at / 1e6) as created_at, to_timestamp(e.scheduled_at / 1e6) as scheduled_at,
       to_timestamp(e.started_at / 1e6) as started_at, to_timestamp(e.completed_at / 1e6) as completed_at,
       encode(e.result, 'escape') as result, encode(e.error, 'escape') as error
from semel.execution e
join semel.tenant t on t.id = e.tenant
join semel.lane l on l.id = e.lane;
