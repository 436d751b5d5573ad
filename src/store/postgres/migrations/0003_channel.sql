-- The name of the channel on which the processes of a store hint at work and hand it over. Anybody who may connect can
-- listen and notify, but only on channels whose names he knows: this one is known to those who may read this table.
alter table semel.meta add column channel uuid not null default gen_random_uuid();
