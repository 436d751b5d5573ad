// Numbers of stored rows that are out of their range, and a process that meets them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace semel::crash {

struct Column {
  std::string table, name;
};

// Fills a new store with rows of every kind, all but a few of them waiting for something.
void fill_store(const std::string& url);

// The integer columns of its tables, except of those that are not rows of core/rows.h.
std::vector<Column> integer_columns(const std::string& url);

// Sets the column to `value` wherever the database lets it. Answers how many rows it changed.
long damage(const std::string& url, const Column& column, const std::string& value);

// What a process does with the store for half a minute of its own time: timers, sweeps, claims, tasks, runs; then it
// explains, reads histories and verifies.
struct Met {
  std::string problem;                // what must not happen; empty: nothing of it
  std::vector<std::string> verified;  // what verify named
};
Met live_with(const std::string& url);

}  // namespace semel::crash
