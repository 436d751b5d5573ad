with history as (delete from semel.history where run = any ($1::uuid[])),
  mail as (delete from semel.mail where run = any ($1::uuid[])),
  watch as (delete from semel.watch where run = any ($1::uuid[]))
delete from semel.run where execution = any ($1::uuid[])
