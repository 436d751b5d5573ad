-- The history of the data that was last seen by a writer (store/postgres/history.h), and how it became that. Null: none
-- yet. `generation` is for what no server shows: who restores an older copy of its files raises it.
alter table semel.meta
  add column seen_system bigint,
  add column seen_timeline integer,
  add column seen_table bigint,
  add column seen_generation bigint,
  add column turned_at bigint,
  add column turned_from text;
