select g.id, g.tenant, g.total, g.joined, g.ended, g.failed, g.completed, g.completion
from semel.grp g where g.id = any ($1::uuid[]) for update
