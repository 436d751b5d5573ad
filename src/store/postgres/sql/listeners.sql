-- Does any other process listen for hints?
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'semel hints' and pid <> $1::integer
