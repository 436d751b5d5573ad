delete from semel.session where id = any ($1::uuid[])
