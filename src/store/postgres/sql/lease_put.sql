insert into semel.lease (id, session, executions, versions) values ($1::uuid, $2::uuid, $3::uuid[], $4::integer[])
on conflict (id) do update set session = excluded.session, executions = excluded.executions, versions = excluded.versions
