-- The tables of the store. Columns are the fields of core/rows.h.
--
-- Instants and durations are microseconds (instants UTC since 1970), ids 16-byte blobs, statuses and kinds the numbers of
-- semel/status.h; the view `executions` prints them as words. Tables are WITHOUT ROWID so that the key is the row's place:
-- execution ids are UUIDv7, inserts append, and a lookup is one descent. No index stands on a column that changes.

CREATE TABLE meta (
  name TEXT NOT NULL PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tenant (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
INSERT INTO tenant (id, name) VALUES (1, 'default');

CREATE TABLE lane (
  id INTEGER PRIMARY KEY,
  tenant INTEGER NOT NULL,
  queue TEXT NOT NULL,
  retention INTEGER,
  rate_count INTEGER,
  rate_per INTEGER,
  concurrency INTEGER,
  concurrency_per_key INTEGER,
  dead_letter INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER,
  retry TEXT NOT NULL DEFAULT '',
  paused INTEGER NOT NULL DEFAULT 0,
  running_count INTEGER NOT NULL DEFAULT 0,
  tokens_micro INTEGER NOT NULL DEFAULT 0,
  tokens_at INTEGER,
  revision INTEGER NOT NULL DEFAULT 1,
  UNIQUE (tenant, queue)
) STRICT;

-- Its primary key is what makes an id unique.
CREATE TABLE identity (
  tenant INTEGER NOT NULL,
  space INTEGER NOT NULL,
  key TEXT NOT NULL,
  target BLOB NOT NULL,
  target_kind INTEGER NOT NULL,
  tombstone INTEGER NOT NULL,
  fingerprint BLOB,
  expires_at INTEGER,
  revision INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, key)
) STRICT, WITHOUT ROWID;
-- Set once, when the target ends; only idempotency keys are in it.
CREATE INDEX identity_expires ON identity (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE execution (
  id BLOB NOT NULL PRIMARY KEY,
  tenant INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  name TEXT NOT NULL,
  identity TEXT,
  priority INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  attempt_timeout INTEGER NOT NULL,
  concurrency_key TEXT,
  idempotency_key TEXT,
  idempotency_key_ttl_seconds INTEGER NOT NULL,
  fingerprint BLOB,
  previous BLOB,
  parent_run BLOB,
  parent_workflow_id TEXT,
  group_id BLOB,
  created_at INTEGER NOT NULL,
  timeout_at INTEGER,
  status INTEGER NOT NULL,
  version INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  flags INTEGER NOT NULL,
  last_end INTEGER NOT NULL,
  close_reason INTEGER NOT NULL,
  suspend_reason INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  started_at INTEGER,
  completed_at INTEGER,
  cancel_requested_at INTEGER,
  lease_expires_at INTEGER,
  session BLOB,
  worker TEXT,
  next BLOB,
  result BLOB,
  error BLOB,
  progress BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE payload (
  execution BLOB NOT NULL PRIMARY KEY,
  encoding INTEGER NOT NULL,
  args BLOB NOT NULL,
  policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is claimable now, in claim order.
CREATE TABLE ready (
  lane INTEGER NOT NULL,
  alone INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  execution BLOB NOT NULL,
  PRIMARY KEY (lane, alone, priority, due_at, execution)
) STRICT, WITHOUT ROWID;

CREATE TABLE blocked (
  lane INTEGER NOT NULL,
  concurrency_key TEXT NOT NULL,
  priority INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  execution BLOB NOT NULL,
  PRIMARY KEY (lane, concurrency_key, priority, due_at, execution)
) STRICT, WITHOUT ROWID;

CREATE TABLE timer (
  due_at INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  execution BLOB NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (due_at, kind, execution, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE key_slot (
  lane INTEGER NOT NULL,
  concurrency_key TEXT NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (lane, concurrency_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
  id BLOB NOT NULL PRIMARY KEY,
  worker TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- `executions`: 20 bytes each, the id and the version as a big-endian int32.
CREATE TABLE lease (
  id BLOB NOT NULL PRIMARY KEY,
  session BLOB NOT NULL,
  executions BLOB NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX lease_session ON lease (session);

-- A group. `completion_*` is the payload and the execution to insert when the last member ends.
CREATE TABLE grp (
  id BLOB NOT NULL PRIMARY KEY,
  tenant INTEGER NOT NULL,
  total INTEGER NOT NULL,
  joined INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  completed INTEGER NOT NULL,
  completion_execution BLOB NOT NULL,
  completion_encoding INTEGER NOT NULL,
  completion_args BLOB NOT NULL,
  completion_policy TEXT NOT NULL,
  completion_id BLOB NOT NULL,
  completion_tenant INTEGER NOT NULL,
  completion_lane INTEGER NOT NULL,
  completion_kind INTEGER NOT NULL,
  completion_name TEXT NOT NULL,
  completion_identity TEXT,
  completion_priority INTEGER NOT NULL,
  completion_max_attempts INTEGER NOT NULL,
  completion_attempt_timeout INTEGER NOT NULL,
  completion_concurrency_key TEXT,
  completion_idempotency_key TEXT,
  completion_idempotency_key_ttl_seconds INTEGER NOT NULL,
  completion_fingerprint BLOB,
  completion_previous BLOB,
  completion_parent_run BLOB,
  completion_parent_workflow_id TEXT,
  completion_group_id BLOB,
  completion_created_at INTEGER NOT NULL,
  completion_timeout_at INTEGER,
  completion_status INTEGER NOT NULL,
  completion_version INTEGER NOT NULL,
  completion_attempt INTEGER NOT NULL,
  completion_flags INTEGER NOT NULL,
  completion_last_end INTEGER NOT NULL,
  completion_close_reason INTEGER NOT NULL,
  completion_suspend_reason INTEGER NOT NULL,
  completion_scheduled_at INTEGER NOT NULL,
  completion_started_at INTEGER,
  completion_completed_at INTEGER,
  completion_cancel_requested_at INTEGER,
  completion_lease_expires_at INTEGER,
  completion_session BLOB,
  completion_worker TEXT,
  completion_next BLOB,
  completion_result BLOB,
  completion_error BLOB,
  completion_progress BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE attention (
  execution BLOB NOT NULL PRIMARY KEY,
  tenant INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  status INTEGER NOT NULL,
  at INTEGER NOT NULL,
  discarded_at INTEGER,
  successor BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX attention_at ON attention (tenant, at);

CREATE TABLE ledger (
  tenant INTEGER NOT NULL,
  space INTEGER NOT NULL,
  key TEXT NOT NULL,
  rule INTEGER NOT NULL,
  count INTEGER NOT NULL,
  PRIMARY KEY (tenant, space, key, rule)
) STRICT, WITHOUT ROWID;

-- A ring per id: note number n lies in slot n % 20.
CREATE TABLE ledger_note (
  tenant INTEGER NOT NULL,
  space INTEGER NOT NULL,
  key TEXT NOT NULL,
  slot INTEGER NOT NULL,
  number INTEGER NOT NULL,
  rule INTEGER NOT NULL,
  at INTEGER NOT NULL,
  winner BLOB NOT NULL,
  PRIMARY KEY (tenant, space, key, slot)
) STRICT, WITHOUT ROWID;

CREATE TABLE batch_mark (
  id BLOB NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For people: ids as hex, instants as text, statuses as words.
CREATE VIEW executions AS
SELECT lower(hex(e.id)) AS execution_id,
       t.name AS tenant,
       l.queue AS queue,
       CASE e.kind WHEN 0 THEN 'task' WHEN 1 THEN 'workflow' END AS kind,
       e.name AS name,
       coalesce(e.identity, lower(hex(e.id))) AS task_id,
       CASE e.status
         WHEN 0 THEN 'queued' WHEN 1 THEN 'claimed' WHEN 2 THEN 'running' WHEN 3 THEN 'suspended' WHEN 4 THEN 'succeeded'
         WHEN 5 THEN 'failed' WHEN 6 THEN 'cancelled' WHEN 7 THEN 'timed_out' WHEN 8 THEN 'dead_lettered'
       END AS status,
       e.version AS version,
       e.attempt AS attempt,
       e.max_attempts AS max_attempts,
       e.priority AS priority,
       e.worker AS worker,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1e6, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.scheduled_at / 1e6, 'unixepoch') AS scheduled_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.started_at / 1e6, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.completed_at / 1e6, 'unixepoch') AS completed_at,
       CAST(e.result AS TEXT) AS result,
       CAST(e.error AS TEXT) AS error
FROM execution e
JOIN tenant t ON t.id = e.tenant
JOIN lane l ON l.id = e.lane;
