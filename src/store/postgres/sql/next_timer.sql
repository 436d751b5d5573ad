select t.due_at from semel.timer t order by t.due_at, t.kind, t.execution, t.version limit 1
