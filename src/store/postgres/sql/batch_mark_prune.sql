-- Batch ids are in time order, so the primary key bounds the walk.
delete from semel.batch_mark where id < $1::uuid and at < $2::bigint
