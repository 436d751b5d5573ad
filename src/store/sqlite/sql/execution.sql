-- :name execution_insert
INSERT INTO execution VALUES (
  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
-- :name execution_get
SELECT * FROM execution WHERE id = ?1
-- :name execution_update
UPDATE execution SET
  status = ?3, version = ?4, attempt = ?5, flags = ?6, last_end = ?7, close_reason = ?8, suspend_reason = ?9,
  scheduled_at = ?10, started_at = ?11, completed_at = ?12, cancel_requested_at = ?13, lease_expires_at = ?14,
  session = ?15, worker = ?16, next = ?17, result = ?18, error = ?19, progress = ?20
WHERE id = ?1 AND version = ?2
-- :name execution_delete
DELETE FROM execution WHERE id = ?1 AND version = ?2
-- :name execution_claim
UPDATE execution SET status = ?2, version = ?3, attempt = ?4, flags = ?5, started_at = ?6, lease_expires_at = ?7, session = ?8, worker = ?9
WHERE id = ?1
-- :name execution_succeed
UPDATE execution SET status = 4, version = version + 1, last_end = 1, completed_at = ?3, result = ?4, error = NULL, session = NULL,
  lease_expires_at = NULL
WHERE id = ?1 AND version = ?2 AND kind = 0 AND status IN (1, 2) AND flags & ?5 = 0
-- :name execution_retention
SELECT * FROM execution WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3

-- Rows with the words around them. Columns: execution, payload, tenant name, queue.
-- :name execution_view
SELECT e.*, p.*, t.name, l.queue
FROM execution e
JOIN payload p ON p.execution = e.id
JOIN tenant t ON t.id = e.tenant
JOIN lane l ON l.id = e.lane
WHERE e.id = ?1 AND e.tenant = ?2
-- :name execution_view_of_identity
SELECT e.*, p.*, t.name, l.queue
FROM identity i
JOIN execution e ON e.id = i.target
JOIN payload p ON p.execution = e.id
JOIN tenant t ON t.id = e.tenant
JOIN lane l ON l.id = e.lane
WHERE i.tenant = ?1 AND i.space = ?2 AND i.key = ?3
-- Newest first below ?2. ?4 is a bit set of statuses (0: all); the other filters are off when null.
-- :name execution_list
SELECT e.*, t.name, l.queue
FROM execution e
JOIN tenant t ON t.id = e.tenant
JOIN lane l ON l.id = e.lane
WHERE e.tenant = ?1 AND e.id < ?2
  AND (?3 IS NULL OR e.kind = ?3)
  AND (?4 = 0 OR ?4 & (1 << e.status))
  AND (?5 IS NULL OR l.queue = ?5)
  AND (?6 IS NULL OR e.name = ?6)
  AND (?7 IS NULL OR e.identity = ?7)
  AND (?8 IS NULL OR e.created_at < ?8)
ORDER BY e.id DESC LIMIT ?9
-- The same for failed, timed out and dead-lettered executions: few rows among millions.
-- :name execution_list_attention
SELECT e.*, t.name, l.queue
FROM attention a
CROSS JOIN execution e ON e.id = a.execution
JOIN tenant t ON t.id = e.tenant
JOIN lane l ON l.id = e.lane
WHERE a.tenant = ?1 AND a.execution < ?2
  AND (?3 IS NULL OR e.kind = ?3)
  AND (?4 = 0 OR ?4 & (1 << e.status))
  AND (?5 IS NULL OR l.queue = ?5)
  AND (?6 IS NULL OR e.name = ?6)
  AND (?7 IS NULL OR e.identity = ?7)
  AND (?8 IS NULL OR e.created_at < ?8)
ORDER BY a.execution DESC LIMIT ?9
