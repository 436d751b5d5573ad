select l.id, l.session, l.executions, l.versions from semel.lease l where l.id = any ($1::uuid[]) for update
