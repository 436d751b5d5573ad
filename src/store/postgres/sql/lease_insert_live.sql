-- Raises like lease_insert, and (division by zero) unless the session lives; a function that raises would cost three
-- times as much. The lock is held until the end of the transaction: a session that ends now ends after the claim made for
-- it.
insert into semel.lease (id, session, executions, versions)
select $1::uuid, $2::uuid, $3::uuid[], $4::integer[]
where 1 / (select count(*) from (
  select 1 from semel.session s where s.id = $2::uuid and s.expires_at > $5::bigint for share) live) = 1
