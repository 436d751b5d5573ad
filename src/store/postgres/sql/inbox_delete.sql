delete from semel.inbox where id = any ($1::bigint[])
