-- Signals and updates count once for a chain: the runs that follow each other by continue-as-new and retry. Runs whose
-- predecessor is gone begin one.

ALTER TABLE run ADD COLUMN chain BLOB NOT NULL DEFAULT x'';

CREATE TABLE chain_link (execution BLOB NOT NULL PRIMARY KEY, chain BLOB NOT NULL) STRICT, WITHOUT ROWID;
WITH RECURSIVE link (execution, chain) AS (
  SELECT r.execution, r.execution
  FROM run r JOIN execution e ON e.id = r.execution LEFT JOIN execution p ON p.id = e.previous
  WHERE p.id IS NULL OR p.close_reason NOT IN (1, 3) OR p.next IS NOT e.id
  UNION ALL
  SELECT e.next, link.chain
  FROM link JOIN execution e ON e.id = link.execution JOIN execution n ON n.id = e.next
  WHERE e.close_reason IN (1, 3)
)
INSERT OR IGNORE INTO chain_link SELECT execution, chain FROM link;
UPDATE run SET chain = coalesce((SELECT l.chain FROM chain_link l WHERE l.execution = run.execution), run.execution);
DROP TABLE chain_link;

-- An update is known by its id alone; what the code answered is kept for whoever sends it again.
ALTER TABLE signal RENAME TO signal_of_run;
CREATE TABLE signal (
  chain BLOB NOT NULL,
  name TEXT NOT NULL,
  dedupe TEXT NOT NULL,
  mail BLOB NOT NULL,
  answer BLOB,
  PRIMARY KEY (chain, name, dedupe)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO signal
SELECT r.chain, CASE WHEN substr(s.name, 1, 1) = char(31) THEN char(31) ELSE s.name END, s.dedupe, zeroblob(16), NULL
FROM signal_of_run s JOIN run r ON r.execution = s.run;
DROP TABLE signal_of_run;

-- Binaries before this would count signals for a run, and replay inputs that were learned together one by one.
UPDATE meta SET value = 3 WHERE name = 'min_binary';
