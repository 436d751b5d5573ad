select m.run, m.at, m.id, m.event from semel.mail m where m.run = $1::uuid order by m.run, m.at, m.id
