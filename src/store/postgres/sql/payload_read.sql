select p.execution, p.encoding, p.args, p.policy from semel.payload p where p.execution = any ($1::uuid[])
