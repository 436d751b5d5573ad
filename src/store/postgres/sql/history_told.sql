select format('system %s, timeline %s, generation %s', m.seen_system, m.seen_timeline, m.seen_generation),
       m.turned_from, m.turned_at
from semel.meta m where m.seen_system is not null
