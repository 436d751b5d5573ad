select h.run, h.first, h.count, h.at, h.events from semel.history h
where h.run = $1::uuid and h.first + h.count > $2::integer + 1
order by h.run, h.first
