with moved as (
  update semel.execution e
  set status = u.status, version = u.version, attempt = u.attempt, flags = u.flags, last_end = u.last_end,
      close_reason = u.close_reason, suspend_reason = u.suspend_reason, scheduled_at = u.scheduled_at,
      started_at = u.started_at, completed_at = u.completed_at, cancel_requested_at = u.cancel_requested_at,
      lease_expires_at = u.lease_expires_at, session = u.session, worker = u.worker, next = u.next, result = u.result,
      error = u.error, progress = u.progress
  from (select u.*, t.place from unnest($1::uuid[], $2::integer[], $3::smallint[], $4::integer[], $5::integer[], $6::integer[], $7::smallint[],
              $8::smallint[], $9::smallint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
              $15::uuid[], $16::text[], $17::uuid[], $18::bytea[], $19::bytea[], $20::bytea[])
    as u (id, read_version, status, version, attempt, flags, last_end, close_reason, suspend_reason, scheduled_at,
          started_at, completed_at, cancel_requested_at, lease_expires_at, session, worker, next, result, error, progress)
    cross join lateral (
      select x.ctid as place from semel.execution x where x.id = u.id and x.version = u.read_version limit 1) t) u
  where e.ctid = u.place
  returning 1
)
select semel.expect_rows((select count(*) from moved), cardinality($1::uuid[]), 'execution')
