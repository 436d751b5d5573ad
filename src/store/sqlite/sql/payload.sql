-- :name payload_insert
INSERT INTO payload VALUES (?, ?, ?, ?)
-- :name payload_get
SELECT * FROM payload WHERE execution = ?1
-- :name payload_update
UPDATE payload SET encoding = ?2, args = ?3, policy = ?4 WHERE execution = ?1
-- :name payload_delete
DELETE FROM payload WHERE execution = ?1
