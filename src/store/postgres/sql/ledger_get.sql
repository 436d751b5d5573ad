select c.rule, c.count from semel.ledger c
where c.tenant = $1::integer and c.space = $2::smallint and c.key = $3::text
order by c.tenant, c.space, c.key, c.rule
