-- Raises on a record that is there: another run of the same claim was committed meanwhile, and the next one finds it.
insert into semel.lease (id, session, executions, versions) values ($1::uuid, $2::uuid, $3::uuid[], $4::integer[])
