-- Only a hint, in a transaction of its own: nobody waits for the disk.
select set_config('synchronous_commit', 'off', true), pg_notify($2::text, $1::text)
