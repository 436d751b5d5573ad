select t.name, t.id from semel.tenant t where t.name = any ($1::text[])
