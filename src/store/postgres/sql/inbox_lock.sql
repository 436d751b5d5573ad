select i.id, i.tenant, i.request, i.error from semel.inbox i where i.id = any ($1::bigint[]) for update skip locked
