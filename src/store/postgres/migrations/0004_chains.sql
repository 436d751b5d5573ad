-- Signals and updates count once for a chain: the runs that follow each other by continue-as-new and retry. Runs whose
-- predecessor is gone begin one.

alter table semel.run add column chain uuid;

create temporary table chain_link (execution uuid primary key, chain uuid not null) on commit drop;
insert into chain_link
with recursive link (execution, chain) as (
  select r.execution, r.execution
  from semel.run r join semel.execution e on e.id = r.execution left join semel.execution p on p.id = e.previous
  where p.id is null or p.close_reason not in (1, 3) or p.next is distinct from e.id
  union all
  select e.next, link.chain
  from link join semel.execution e on e.id = link.execution join semel.execution n on n.id = e.next
  where e.close_reason in (1, 3)
)
select execution, chain from link
on conflict do nothing;
update semel.run r set chain = coalesce((select l.chain from chain_link l where l.execution = r.execution), r.execution);
alter table semel.run alter column chain set not null;

-- An update is known by its id alone; what the code answered is kept for whoever sends it again.
alter table semel.signal rename to signal_of_run;
alter table semel.signal_of_run rename constraint signal_pkey to signal_of_run_pkey;
create table semel.signal (
  chain uuid not null,
  name text collate "C" not null,
  dedupe text collate "C" not null,
  mail uuid not null,
  answer bytea,
  primary key (chain, name, dedupe)
);
insert into semel.signal
select r.chain, case when left(s.name, 1) = chr(31) then chr(31) else s.name end, s.dedupe,
  '00000000-0000-0000-0000-000000000000', null
from semel.signal_of_run s join semel.run r on r.execution = s.run
on conflict do nothing;
drop table semel.signal_of_run;
