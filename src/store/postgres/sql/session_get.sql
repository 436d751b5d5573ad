select s.id, s.worker, s.opened_at, s.expires_at from semel.session s where s.id = $1::uuid
