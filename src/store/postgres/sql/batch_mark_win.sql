-- Waits for a first run of this batch whose end is still open, so that the answer is final.
insert into semel.batch_mark (id, at) values ($1::uuid, $2::bigint) on conflict do nothing returning id
