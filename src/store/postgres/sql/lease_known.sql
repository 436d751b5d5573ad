select l.id from semel.lease l where l.id = any ($1::uuid[])
