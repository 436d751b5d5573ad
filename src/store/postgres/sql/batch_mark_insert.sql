insert into semel.batch_mark (id, at) values ($1::uuid, $2::bigint)
