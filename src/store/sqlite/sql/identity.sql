-- :name identity_insert_or_ignore
INSERT OR IGNORE INTO identity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
-- :name identity_insert
INSERT INTO identity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
-- :name identity_get
SELECT * FROM identity WHERE tenant = ?1 AND space = ?2 AND key = ?3
-- :name identity_update
UPDATE identity SET target = ?4, target_kind = ?5, tombstone = ?6, fingerprint = ?7, expires_at = ?8, revision = ?9
WHERE tenant = ?1 AND space = ?2 AND key = ?3 AND revision = ?10
-- :name identity_delete
DELETE FROM identity WHERE tenant = ?1 AND space = ?2 AND key = ?3 AND revision = ?4
-- :name identity_expired
SELECT * FROM identity INDEXED BY identity_expires
WHERE expires_at IS NOT NULL AND expires_at <= ?1 ORDER BY expires_at, tenant, space, key LIMIT ?2
-- :name key_list
SELECT * FROM identity WHERE tenant = ?1 AND space = 2 AND key > ?2 ORDER BY key LIMIT ?3
