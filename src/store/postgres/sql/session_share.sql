select s.id from semel.session s where s.id = any ($1::uuid[]) and s.expires_at > $2::bigint for share
