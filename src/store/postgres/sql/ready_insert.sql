insert into semel.ready (lane, pool, priority, due_at, execution)
select * from unnest($1::semel.new_ready[])
