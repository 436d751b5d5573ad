-- :name tenant_find
SELECT id FROM tenant WHERE name = ?1
-- :name tenant_insert
INSERT INTO tenant (name) VALUES (?1)
-- :name tenant_list
SELECT id, name FROM tenant ORDER BY id

-- :name lane_get
SELECT * FROM lane WHERE id = ?1
-- :name lane_find
SELECT * FROM lane WHERE tenant = ?1 AND queue = ?2
-- :name lane_insert
INSERT INTO lane (id, tenant, queue)
VALUES ((SELECT coalesce(max(id), 0) + 1 FROM lane WHERE id BETWEEN 0 AND 2147483646), ?1, ?2)
-- :name lane_update
UPDATE lane SET tenant = ?2, queue = ?3, retention = ?4, rate_count = ?5, rate_per = ?6, concurrency = ?7, concurrency_per_key = ?8,
  dead_letter = ?9, max_attempts = ?10, retry = ?11, paused = ?12, running_count = ?13, tokens_micro = ?14, tokens_at = ?15,
  revision = ?16
WHERE id = ?1
-- :name lane_list
SELECT * FROM lane ORDER BY id

-- :name key_slot_put
REPLACE INTO key_slot VALUES (?, ?, ?)
-- :name key_slot_get
SELECT * FROM key_slot WHERE lane = ?1 AND concurrency_key = ?2
-- :name key_slot_delete
DELETE FROM key_slot WHERE lane = ?1 AND concurrency_key = ?2
