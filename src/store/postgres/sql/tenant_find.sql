select t.id from semel.tenant t where t.name = $1::text
