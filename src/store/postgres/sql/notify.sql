select pg_notify('semel', $1::text)
