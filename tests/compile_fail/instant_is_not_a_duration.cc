// expect: Duration
// `scheduled_at` and `delay` cannot be exchanged.
#include "semel/time.h"

void enqueue_after(semel::Duration delay);

void caller(semel::Instant at) {
#ifdef CONTROL
  enqueue_after(at.time_since_epoch());
#else
  enqueue_after(at);
#endif
}
