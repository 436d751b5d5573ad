select e.id, e.encoding, e.args, e.policy from semel.execution e where e.id = any ($1::uuid[])
