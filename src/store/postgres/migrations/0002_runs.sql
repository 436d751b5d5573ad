-- Workflows: what lies beside their execution rows. Columns are the fields of core/rows.h.

alter table semel.ready rename column alone to pool;
alter type semel.new_ready rename attribute alone to pool;
alter table semel.execution add column parent_command integer not null default 0;

create table semel.run (
  execution uuid primary key,
  bytes bigint not null,
  events integer not null,
  state bytea,
  memo text not null,
  attributes text not null
) with (fillfactor = 50);

-- One row for each append.
create table semel.history (
  run uuid not null,
  at bigint not null,
  first integer not null,
  count integer not null,
  events bytea not null,
  primary key (run, first)
);

-- What a run has not learned yet.
create table semel.mail (
  run uuid not null,
  at bigint not null,
  id uuid not null,
  event bytea not null,
  primary key (run, at, id)
);

-- Runs that wait for an execution they did not create.
create table semel.watch (
  target uuid not null,
  run uuid not null,
  command integer not null,
  primary key (target, run, command)
);
create index watch_run on semel.watch (run);

-- Signals with a dedupe id that were taken.
create table semel.signal (
  run uuid not null,
  name text collate "C" not null,
  dedupe text collate "C" not null,
  primary key (run, name, dedupe)
);

alter table semel.mail set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0);
