-- Workflows: what lies beside their execution rows. Columns are the fields of core/rows.h.

ALTER TABLE ready RENAME COLUMN alone TO pool;
ALTER TABLE execution ADD COLUMN parent_command INTEGER NOT NULL DEFAULT 0;
ALTER TABLE grp ADD COLUMN parent_command INTEGER NOT NULL DEFAULT 0;

CREATE TABLE run (
  execution BLOB NOT NULL PRIMARY KEY,
  events INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  state BLOB,
  memo TEXT NOT NULL,
  attributes TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each append.
CREATE TABLE history (
  run BLOB NOT NULL,
  first INTEGER NOT NULL,
  count INTEGER NOT NULL,
  at INTEGER NOT NULL,
  events BLOB NOT NULL,
  PRIMARY KEY (run, first)
) STRICT, WITHOUT ROWID;

-- What a run has not learned yet.
CREATE TABLE mail (
  run BLOB NOT NULL,
  at INTEGER NOT NULL,
  id BLOB NOT NULL,
  event BLOB NOT NULL,
  PRIMARY KEY (run, at, id)
) STRICT, WITHOUT ROWID;

-- Runs that wait for an execution they did not create.
CREATE TABLE watch (
  target BLOB NOT NULL,
  run BLOB NOT NULL,
  command INTEGER NOT NULL,
  PRIMARY KEY (target, run, command)
) STRICT, WITHOUT ROWID;
CREATE INDEX watch_run ON watch (run);

-- Signals with a dedupe id that were taken.
CREATE TABLE signal (
  run BLOB NOT NULL,
  name TEXT NOT NULL,
  dedupe TEXT NOT NULL,
  PRIMARY KEY (run, name, dedupe)
) STRICT, WITHOUT ROWID;

UPDATE meta SET value = 2 WHERE name = 'min_binary';
