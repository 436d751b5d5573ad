select exists (select 1 from semel.ready r where r.lane = $2::integer and r.pool = $3::smallint and r.priority = $4::integer
                 and r.due_at = $5::bigint and r.execution = $1::uuid),
       exists (select 1 from semel.timer t where t.due_at = $5::bigint and t.kind = 0 and t.execution = $1::uuid),
       exists (select 1 from semel.blocked b where b.lane = $2::integer and b.concurrency_key = $6::text
                 and b.priority = $4::integer and b.due_at = $5::bigint and b.execution = $1::uuid)
