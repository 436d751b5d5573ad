select t.id, t.name from semel.tenant t order by t.id
