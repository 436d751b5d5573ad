select i.id, i.tenant, i.request, i.error from semel.inbox i where i.error is null order by i.id limit $1::integer
