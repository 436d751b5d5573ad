-- :name attention_put
REPLACE INTO attention VALUES (?, ?, ?, ?, ?, ?, ?)
-- :name attention_get
SELECT * FROM attention WHERE execution = ?1
-- :name attention_delete
DELETE FROM attention WHERE execution = ?1

-- :name ledger_total
SELECT coalesce(sum(count), 0) FROM ledger WHERE tenant = ?1 AND space = ?2 AND key = ?3
-- :name ledger_count
INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (tenant, space, key, rule) DO UPDATE SET count = count + excluded.count
-- :name ledger_note_put
REPLACE INTO ledger_note VALUES (?, ?, ?, ?, ?, ?, ?, ?)
-- Ids with the instant of their newest note.
-- :name ledger_noted
SELECT tenant, space, key, max(at) FROM ledger_note
WHERE (tenant, space, key) > (?1, ?2, ?3) GROUP BY tenant, space, key LIMIT ?4
-- :name ledger_forget
DELETE FROM ledger WHERE tenant = ?1 AND space = ?2 AND key = ?3
-- :name ledger_note_forget
DELETE FROM ledger_note WHERE tenant = ?1 AND space = ?2 AND key = ?3
-- :name ledger_counts
SELECT rule, count FROM ledger WHERE tenant = ?1 AND space = ?2 AND key = ?3 ORDER BY rule
-- :name ledger_notes
SELECT rule, at, winner FROM ledger_note WHERE tenant = ?1 AND space = ?2 AND key = ?3 ORDER BY number DESC

-- Prepared like the rest: reading these two words anew costs a lone caller more than an insert does.
-- :name batch_begin
BEGIN IMMEDIATE
-- :name batch_commit
COMMIT
-- :name batch_mark_get
SELECT 1 FROM batch_mark WHERE id = ?1
-- :name batch_mark_insert
INSERT INTO batch_mark VALUES (?1, ?2)
-- :name batch_mark_prune
DELETE FROM batch_mark WHERE at < ?1
