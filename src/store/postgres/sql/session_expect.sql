-- Raises (division by zero) unless the session lives; a function that raises would cost three times as much. The lock is
-- held until the end of the transaction: a session that ends now ends after the claim made for it.
select 1 / (select count(*) from (
  select 1 from semel.session s where s.id = $1::uuid and s.expires_at > $2::bigint for share) live)
