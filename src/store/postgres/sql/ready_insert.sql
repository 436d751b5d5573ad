insert into semel.ready (lane, alone, priority, due_at, execution)
select * from unnest($1::semel.new_ready[])
