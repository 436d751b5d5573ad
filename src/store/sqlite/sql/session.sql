-- :name session_put
REPLACE INTO session VALUES (?, ?, ?, ?)
-- :name session_get
SELECT * FROM session WHERE id = ?1
-- :name session_delete
DELETE FROM session WHERE id = ?1
-- Expired sessions that hold no lease.
-- :name session_over
SELECT * FROM session WHERE expires_at <= ?1 AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.session = session.id)
ORDER BY id LIMIT ?2

-- A record that is new replaces none: what the other claim holds would be nobody's.
-- :name lease_insert
INSERT INTO lease VALUES (?, ?, ?)
-- :name lease_put
REPLACE INTO lease VALUES (?, ?, ?)
-- :name lease_get
SELECT * FROM lease WHERE id = ?1
-- :name session_leases
SELECT * FROM lease WHERE session = ?1
-- :name lease_delete
DELETE FROM lease WHERE id = ?1
-- Does any holder of a lease have no live session? Hops from session to session: its cost is the number of workers.
-- :name lease_any_expired
WITH RECURSIVE holder (session) AS (
  SELECT min(session) FROM lease
  UNION ALL
  SELECT (SELECT min(lease.session) FROM lease WHERE lease.session > holder.session) FROM holder WHERE holder.session IS NOT NULL
)
SELECT 1 FROM holder
WHERE session IS NOT NULL AND NOT EXISTS (SELECT 1 FROM session s WHERE s.id = holder.session AND s.expires_at > ?1) LIMIT 1
-- :name lease_expired
SELECT * FROM lease
WHERE NOT EXISTS (SELECT 1 FROM session s WHERE s.id = lease.session AND s.expires_at > ?1) ORDER BY id
