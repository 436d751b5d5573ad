// L4: kill real processes at random moments and at named crash points, then ask the database, by SQL, what is left.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace semel::crash {

struct LoopOptions {
  std::string store;  // prepared: migrated, watched
  std::uint64_t seed = 1;
  int processes = 1;           // alive at once
  int kills = 200;             // at least
  long acknowledged = 50'000;  // at least
  int max_kills = 2'000;
  int callers = 32;                     // per process: threads that enqueue, one at a time each
  int workers = 4;                      // per process: threads that claim and complete
  std::vector<std::string> failpoints;  // each is killed at
};

struct LoopReport {
  int kills = 0;
  int kills_in_flight = 0;  // with an operation begun and not acknowledged
  long acknowledged = 0;
  long checked = 0;                      // acknowledged writes found by SQL in the last check
  std::map<std::string, int> killed_at;  // by crash point
  std::set<std::string> visited;
  std::vector<std::string> violations;  // empty: nothing lost, nothing twice
};

// Every process dies by SIGKILL. At the end one more drains what is left: everything accepted must end.
LoopReport run_kill_loop(const LoopOptions& options);
// The numbers that a test expects and a person wants to see.
std::string to_text(const LoopReport& report);

}  // namespace semel::crash
