-- Workflows: header, history, mailbox, watches, signals.

-- :name run_put
REPLACE INTO run VALUES (?, ?, ?, ?, ?, ?, ?)
-- :name run_get
SELECT * FROM run WHERE execution = ?1
-- :name run_delete
DELETE FROM run WHERE execution = ?1

-- :name history_add
INSERT INTO history VALUES (?, ?, ?, ?, ?)
-- :name history_get
SELECT * FROM history WHERE run = ?1 AND first + count > ?2 + 1 ORDER BY first
-- :name history_delete
DELETE FROM history WHERE run = ?1

-- :name mail_add
INSERT INTO mail VALUES (?, ?, ?, ?)
-- :name mail_of
SELECT * FROM mail WHERE run = ?1 ORDER BY at, id
-- :name mail_remove
DELETE FROM mail WHERE run = ?1 AND at = ?2 AND id = ?3
-- :name mail_delete
DELETE FROM mail WHERE run = ?1

-- :name watch_add
INSERT OR IGNORE INTO watch VALUES (?, ?, ?)
-- :name watch_of
SELECT * FROM watch WHERE target = ?1
-- :name watch_remove
DELETE FROM watch WHERE target = ?1 AND run = ?2 AND command = ?3
-- :name watch_delete
DELETE FROM watch WHERE run = ?1

-- :name signal_add
INSERT INTO signal VALUES (?, ?, ?, ?, ?)
-- :name signal_get
SELECT * FROM signal WHERE chain = ?1 AND name = ?2 AND dedupe = ?3
-- :name signal_answer
UPDATE signal SET answer = ?4 WHERE chain = ?1 AND name = ?2 AND dedupe = ?3
-- :name signal_delete
DELETE FROM signal WHERE chain = ?1
