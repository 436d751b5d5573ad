// A run's history for people: one line for each event, commands paired with what came of them.
//
//   checkout  order-7  run 018f3c1e-...  suspended  4 events over 0.410s
//
//   1  +0.000s  ▶  run             started            {"order":7}
//   2  +0.012s  ✓  #1 local price  completed          42
//   3  +0.012s  →  #2 step charge  scheduled  pay-7
//   4  +0.410s  ✓  #2 step charge  completed  0.398s  {"receipt":"r-9"}
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/requests.h"

namespace semel::cli {

struct TimelineStyle {
  std::size_t width = 120;  // lines are cut to it
  bool colour = false;
  bool full = false;  // below each event everything it holds, uncut
};

// Nothing of it ends in a space; control characters of stored texts are made visible.
std::string timeline(const engine::RunView& run, std::span<const engine::HistoryEvent> events,
                     const TimelineStyle& style);

// `0.012s`, `2m03.456s`, `1h02m03s`, `3d04h05m`.
std::string elapsed(Duration time);

// The style that fits standard output: colour on a terminal that wants it, its width, 120 elsewhere.
TimelineStyle style_of_output(bool full);

}  // namespace semel::cli
