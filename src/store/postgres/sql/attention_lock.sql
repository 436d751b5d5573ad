select a.execution, a.tenant, a.lane, a.status, a.at, a.discarded_at, a.successor
from semel.attention a where a.execution = any ($1::uuid[]) for update
