select r.execution, r.events, r.bytes, r.state, r.memo, r.attributes, r.chain from semel.run r where r.execution = any ($1::uuid[]) for update
