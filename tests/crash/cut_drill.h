// Every kind of operation, while connections are cut.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "base/random.h"
#include "testing/pg_proxy.h"
#include "tests/crash/cut_record.h"

namespace semel::crash {

struct DrillOptions {
  std::string store;   // as the drilled processes reach it
  std::string direct;  // the database itself
  std::uint64_t seed = 1;
  int callers = 3;
};

// Runs callers that write, and a worker of workflows, until `over` answers true; then lets what was begun end, and
// compares what was told with what SQL finds. The database has its schema and is
// watched (sql.h).
void drill(const DrillOptions& options, const std::function<bool()>& over, CutRecord& record);

// Strikes `cuts` times, with faults and at places drawn by `seed`. To be given to `drill` as `over`, one proxy each.
class Cuts {
 public:
  Cuts(testing::PgProxy& proxy, std::uint64_t seed, long cuts);
  bool operator()();
  long struck() const { return struck_; }
  std::string to_text() const;

 private:
  void arm();

  testing::PgProxy& proxy_;
  base::SeededRandom random_;
  const long cuts_;
  bool armed_ = false;  // not while the drilled processes open the store
  long struck_ = 0;
  testing::PgProxy::Fault fault_{};
  std::map<testing::PgProxy::Fault, long> by_fault_;
};

}  // namespace semel::crash
