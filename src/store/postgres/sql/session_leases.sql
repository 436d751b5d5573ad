select l.id from semel.lease l where l.session = $1::uuid
