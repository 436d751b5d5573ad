-- The invariants between the tables. Every statement returns (id or null, what is broken) for each broken row.

-- :name verify_waiting
SELECT e.id, 'queued, but waits in ' || n || ' places instead of one'
FROM (
  SELECT e.id AS id,
    (SELECT count(*) FROM ready r WHERE r.lane = e.lane AND r.pool = (CASE WHEN e.kind = 1 THEN 2 ELSE (e.flags >> 16) & 1 END) AND r.priority = e.priority
       AND r.due_at = e.scheduled_at AND r.execution = e.id)
    + (SELECT count(*) FROM timer t WHERE t.due_at = e.scheduled_at AND t.kind = 0 AND t.execution = e.id AND t.version = 0)
    + (SELECT count(*) FROM blocked b WHERE b.lane = e.lane AND b.concurrency_key = e.concurrency_key
       AND b.priority = e.priority AND b.due_at = e.scheduled_at AND b.execution = e.id) AS n
  FROM execution e WHERE e.status = 0 OR (e.kind = 1 AND e.session IS NULL AND (e.status = 2 OR (e.status = 3 AND e.suspend_reason = 1)))
) e WHERE n <> 1
-- :name verify_ready
SELECT r.execution, 'has a ready row that does not fit it'
FROM ready r LEFT JOIN execution e ON e.id = r.execution
WHERE e.id IS NULL OR (e.status <> 0 AND NOT (e.kind = 1 AND e.status = 2 AND e.session IS NULL)) OR e.lane <> r.lane OR e.priority <> r.priority OR e.scheduled_at <> r.due_at
  OR (CASE WHEN e.kind = 1 THEN 2 ELSE (e.flags >> 16) & 1 END) <> r.pool
-- :name verify_blocked
SELECT b.execution, 'has a blocked row that does not fit it'
FROM blocked b LEFT JOIN execution e ON e.id = b.execution
WHERE e.id IS NULL OR e.status <> 0 OR e.lane <> b.lane OR e.priority <> b.priority OR e.scheduled_at <> b.due_at
  OR e.concurrency_key IS NOT b.concurrency_key
-- :name verify_timer
SELECT t.execution, 'has a timer of kind ' || t.kind || ' that does not fit it'
FROM timer t LEFT JOIN execution e ON e.id = t.execution
WHERE (e.id IS NULL AND t.kind <> 3)
  OR (t.kind = 0 AND ((e.status <> 0 AND NOT (e.kind = 1 AND e.session IS NULL AND (e.status = 2 OR (e.status = 3 AND e.suspend_reason = 1)))) OR e.scheduled_at <> t.due_at))
  OR (t.kind = 1 AND (e.status >= 4 OR e.timeout_at IS NOT t.due_at))
  OR (t.kind = 2 AND (e.status NOT IN (1, 2) OR e.version <> t.version))
  OR (t.kind = 3 AND e.kind <> 1) OR t.kind > 3
-- :name verify_timeout
SELECT e.id, 'has a timeout but no timer for it'
FROM execution e
WHERE e.status < 4 AND e.timeout_at IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM timer t WHERE t.due_at = e.timeout_at AND t.kind = 1 AND t.execution = e.id)
-- :name verify_terminal
SELECT e.id, 'is terminal but still holds a lease, a slot or a count, or has no completed_at'
FROM execution e
WHERE e.status >= 4 AND (e.lease_expires_at IS NOT NULL OR e.session IS NOT NULL OR e.flags & 24 OR e.completed_at IS NULL)
-- :name verify_claimed
SELECT e.id, 'is claimed or running without lease, session, attempt or version'
FROM execution e
WHERE e.kind = 0 AND e.status IN (1, 2)
  AND (e.lease_expires_at IS NULL OR e.session IS NULL OR e.attempt < 1 OR e.version < 2 OR e.completed_at IS NOT NULL)
-- :name verify_words
SELECT e.id, 'has a status, kind, tenant or queue that does not exist'
FROM execution e
WHERE e.status NOT BETWEEN 0 AND 8 OR e.kind NOT IN (0, 1)
  OR NOT EXISTS (SELECT 1 FROM tenant t WHERE t.id = e.tenant)
  OR NOT EXISTS (SELECT 1 FROM lane l WHERE l.id = e.lane AND l.tenant = e.tenant)
-- :name verify_suspended
SELECT e.id, 'has a reason to be suspended and is not'
FROM execution e WHERE e.suspend_reason <> 0 AND (e.status <> 3 OR e.session IS NOT NULL)
-- :name verify_identity
SELECT i.target, 'is not what its id or key ' || quote(i.key) || ' (space ' || i.space || ') should point at'
FROM identity i LEFT JOIN execution e ON e.id = i.target
WHERE i.space IN (0, 1, 2) AND NOT i.tombstone
  AND (e.id IS NULL OR e.tenant <> i.tenant OR e.kind <> i.target_kind
       OR (i.space < 2 AND (e.identity IS NOT i.key OR e.kind <> i.space))
       OR (i.space = 2 AND e.idempotency_key IS NOT i.key))
-- :name verify_tombstone
SELECT i.target, 'has a tombstone ' || quote(i.key) || ' that is no expiring key'
FROM identity i WHERE i.tombstone AND (i.space <> 2 OR i.expires_at IS NULL)
-- :name verify_identity_of_live
SELECT e.id, 'is live but its id points elsewhere'
FROM execution e
LEFT JOIN identity i ON i.tenant = e.tenant AND i.space = e.kind AND i.key = e.identity
WHERE e.status < 4 AND e.identity IS NOT NULL AND i.target IS NOT e.id
-- :name verify_key_of_live
SELECT e.id, 'is live but its idempotency key points elsewhere'
FROM execution e
LEFT JOIN identity i ON i.tenant = e.tenant AND i.space = 2 AND i.key = e.idempotency_key
WHERE e.status < 4 AND e.flags & 2 AND i.target IS NOT e.id
-- :name verify_payload
SELECT e.id, 'has no payload' FROM execution e WHERE NOT EXISTS (SELECT 1 FROM payload p WHERE p.execution = e.id)
UNION ALL
SELECT p.execution, 'is gone but its payload is there'
FROM payload p WHERE NOT EXISTS (SELECT 1 FROM execution e WHERE e.id = p.execution)
-- :name verify_attention
SELECT a.execution, 'has an attention row that does not fit it'
FROM attention a LEFT JOIN execution e ON e.id = a.execution WHERE e.status IS NOT a.status
UNION ALL
SELECT e.id, 'ended badly but has no attention row'
FROM execution e WHERE e.status IN (5, 7, 8) AND NOT EXISTS (SELECT 1 FROM attention a WHERE a.execution = e.id)
-- :name verify_slot
SELECT NULL, 'key slot ' || quote(k) || ' of lane ' || lane || ' counts ' || counted || ', but ' || held || ' executions hold it'
FROM (
  SELECT lane, k, sum(counted) AS counted, sum(held) AS held FROM (
    SELECT lane, concurrency_key AS k, used AS counted, 0 AS held FROM key_slot
    UNION ALL
    SELECT lane, concurrency_key, 0, 1 FROM execution WHERE flags & 8
  ) GROUP BY lane, k
) WHERE counted <> held
UNION ALL
SELECT NULL, 'key slot ' || quote(concurrency_key) || ' of lane ' || lane || ' is empty and should be gone' FROM key_slot WHERE used <= 0
-- :name verify_lane
SELECT NULL, 'lane ' || l.id || ' counts ' || l.running_count || ' running, but ' || n || ' executions are counted in it'
FROM (SELECT l.*, (SELECT count(*) FROM execution e WHERE e.lane = l.id AND e.flags & 16) AS n FROM lane l) l
WHERE l.running_count <> n
-- :name verify_group
SELECT g.id, 'is a group whose counts do not add up'
FROM grp g
WHERE g.joined > g.total OR g.ended > g.joined OR g.failed > g.ended OR (g.completed AND g.ended < g.total)
-- Holders for the check of lease records, which are encoded.
-- :name verify_holders
SELECT id, version FROM execution WHERE kind = 0 AND status IN (1, 2)
-- :name verify_run
SELECT e.id, 'is a workflow without a run row' FROM execution e
WHERE e.kind = 1 AND NOT EXISTS (SELECT 1 FROM run r WHERE r.execution = e.id)
UNION ALL
SELECT r.execution, 'has a run row that does not fit it' FROM run r LEFT JOIN execution e ON e.id = r.execution
WHERE e.kind IS NOT 1
  OR r.events <> (SELECT total(h.count) FROM history h WHERE h.run = r.execution)
  OR r.bytes <> (SELECT coalesce(sum(length(h.events)), 0) FROM history h WHERE h.run = r.execution)
UNION ALL
SELECT h.run, 'has a history with a gap before event ' || h.first FROM history h
WHERE h.first <> 1 AND NOT EXISTS (SELECT 1 FROM history b WHERE b.run = h.run AND b.first + b.count = h.first)
UNION ALL
SELECT h.run, 'is gone but its history is there' FROM history h
WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.execution = h.run)
UNION ALL
SELECT m.run, 'has mail, but is no run' FROM mail m WHERE NOT EXISTS (SELECT 1 FROM run r WHERE r.execution = m.run)
UNION ALL
SELECT e.id, 'is a waiting run without owner, but has mail' FROM execution e
WHERE e.kind = 1 AND e.status = 3 AND e.session IS NULL AND e.suspend_reason = 0
  AND EXISTS (SELECT 1 FROM mail m WHERE m.run = e.id)
