update semel.inbox i set error = u.error from unnest($1::bigint[], $2::text[]) as u (id, error) where i.id = u.id
