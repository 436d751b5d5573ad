-- The store's clock from one open to the next. Rows of meta: clock_boot (which boot), clock_offset (store time less the
-- time since that boot), clock_at (of a recent batch), and of the last step noticed clock_step_at and clock_step_by.

-- :name meta_get
SELECT value FROM meta WHERE name = ?1
-- :name meta_put
INSERT INTO meta VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2

-- What is judged by the time that passes moves by ?1; 4e18 and beyond is never. Terminal rows and histories stay.
-- :name shift_timer
UPDATE OR REPLACE timer SET due_at = min(due_at, 4000000000000000000) + ?1
-- :name shift_ready
UPDATE OR REPLACE ready SET due_at = min(due_at, 4000000000000000000) + ?1
-- :name shift_blocked
UPDATE OR REPLACE blocked SET due_at = min(due_at, 4000000000000000000) + ?1
-- :name shift_execution
UPDATE execution SET
  scheduled_at = min(scheduled_at, 4000000000000000000) + ?1,
  started_at = started_at + ?1,
  lease_expires_at = min(lease_expires_at, 4000000000000000000) + ?1,
  timeout_at = min(timeout_at, 4000000000000000000) + ?1
WHERE status < 4
-- :name shift_session
UPDATE session SET opened_at = opened_at + ?1, expires_at = min(expires_at, 4000000000000000000) + ?1
-- :name shift_lane
UPDATE lane SET tokens_at = tokens_at + ?1 WHERE tokens_at IS NOT NULL
-- :name shift_identity
UPDATE identity SET expires_at = min(expires_at, 4000000000000000000) + ?1 WHERE expires_at IS NOT NULL
-- :name shift_grp
UPDATE grp SET completion_timeout_at = min(completion_timeout_at, 4000000000000000000) + ?1 WHERE completed = 0
-- Its order is that of arrival.
-- :name shift_mail
UPDATE OR REPLACE mail SET at = at + ?1
