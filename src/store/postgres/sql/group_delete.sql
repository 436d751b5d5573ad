delete from semel.grp where id = any ($1::uuid[])
