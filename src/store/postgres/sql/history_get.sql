-- Rows are sent up to the one that reaches the limit. Lengths are known without fetching what is stored out of line.
select q.run, q.first, q.count, q.at, q.events
from (
  select h.*, sum(octet_length(h.events)) over (order by h.first rows between unbounded preceding and 1 preceding)
    as bytes_before
  from semel.history h
  where h.run = $1::uuid and h.first + h.count > $2::integer + 1
    and h.first >= coalesce((select max(b.first) from semel.history b
                             where b.run = $1::uuid and b.first <= $2::integer + 1), 0)
) q
where coalesce(q.bytes_before, 0) < $3::bigint
order by q.first
