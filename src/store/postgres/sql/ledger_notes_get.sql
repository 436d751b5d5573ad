select n.tenant, n.space, n.key, n.rule, n.at, n.winner from semel.ledger_note n
where n.tenant = $1::integer and n.space = $2::smallint and n.key = $3::text
order by n.tenant desc, n.space desc, n.key desc, n.number desc
