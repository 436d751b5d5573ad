delete from semel.lease where id = any ($1::uuid[])
