-- Where queued executions wait: ready, timer, blocked.

-- :name ready_add
INSERT OR IGNORE INTO ready VALUES (?, ?, ?, ?, ?)
-- :name ready_remove
DELETE FROM ready WHERE lane = ?1 AND pool = ?2 AND priority = ?3 AND due_at = ?4 AND execution = ?5
-- Everything up to a row, in claim order.
-- :name ready_remove_through
DELETE FROM ready WHERE lane = ?1 AND pool = ?2 AND (priority, due_at, execution) <= (?3, ?4, ?5)
-- In claim order, whatever the planner thinks of the sizes. Columns: execution, payload, priority, due_at.
-- :name ready_take
SELECT e.*, p.*, r.priority, r.due_at
FROM ready r
CROSS JOIN execution e ON e.id = r.execution
CROSS JOIN payload p ON p.execution = r.execution
WHERE r.lane = ?1 AND r.pool = ?2
ORDER BY r.priority, r.due_at, r.execution LIMIT ?3
-- :name ready_lanes
SELECT l.id, a.pool
FROM (SELECT 0 AS pool UNION ALL SELECT 1 UNION ALL SELECT 2) a CROSS JOIN lane l
WHERE EXISTS (SELECT 1 FROM ready r WHERE r.lane = l.id AND r.pool = a.pool)
ORDER BY l.id, a.pool
-- :name ready_count
SELECT count(*) FROM (SELECT 1 FROM ready WHERE lane = ?1 LIMIT ?2)
-- :name ready_find
SELECT 1 FROM ready WHERE lane = ?1 AND pool IN (0, 1, 2) AND priority = ?2 AND due_at = ?3 AND execution = ?4

-- :name timer_add
INSERT OR IGNORE INTO timer VALUES (?, ?, ?, ?)
-- :name timer_remove
DELETE FROM timer WHERE due_at = ?1 AND kind = ?2 AND execution = ?3 AND version = ?4
-- :name timer_due
SELECT * FROM timer WHERE due_at <= ?1 ORDER BY due_at, kind, execution, version LIMIT ?2
-- :name timer_next
SELECT due_at FROM timer ORDER BY due_at LIMIT 1
-- :name timer_find
SELECT 1 FROM timer WHERE due_at = ?1 AND kind = ?2 AND execution = ?3 AND version = ?4

-- :name blocked_add
INSERT OR IGNORE INTO blocked VALUES (?, ?, ?, ?, ?)
-- :name blocked_remove
DELETE FROM blocked WHERE lane = ?1 AND concurrency_key = ?2 AND priority = ?3 AND due_at = ?4 AND execution = ?5
-- :name blocked_first
SELECT * FROM blocked WHERE lane = ?1 AND concurrency_key = ?2 ORDER BY priority, due_at, execution LIMIT ?3
-- :name blocked_of_lane
SELECT * FROM blocked WHERE lane = ?1 ORDER BY concurrency_key, priority, due_at, execution LIMIT ?2
-- :name blocked_count
SELECT count(*) FROM (SELECT 1 FROM blocked WHERE lane = ?1 LIMIT ?2)
-- :name blocked_find
SELECT 1 FROM blocked WHERE lane = ?1 AND concurrency_key = ?2 AND priority = ?3 AND due_at = ?4 AND execution = ?5
