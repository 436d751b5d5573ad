// What every part of the engine is given from outside: the store, time, chance and a place for log lines.
#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/uuid.h"
#include "store/port.h"

namespace semel::engine {

struct Env {
  store::Store& store;         // its clock is store time: leases, due times and retention are counted in it
  base::Clock& local_clock;    // of this node; only makes ids, never decides anything
  base::Monotonic& monotonic;  // for doubting a store clock that jumped
  base::Random& random;
  base::LogSink& log;
  base::IdSource& ids;

  template <class Id>
  Id next_id() {
    return ids.next<Id>(local_clock.now());
  }
};

}  // namespace semel::engine
