-- In the transaction whose claim it tells of: heard once that is durable, or never.
select pg_notify($2::text, $1::text)
