// Durations, rates and instants as people write them. Every scanner checks its arithmetic: text that does not fit is an
// InvalidArgument that names the text and the accepted forms, never a wrapped number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "semel/result.h"
#include "semel/time.h"

namespace semel::base {

// `100us` `250ms` `30s` `5m` `2h` `7d` `1w`, larger units first when combined (`1h30m`), a fraction if it is a whole
// number of microseconds (`1.5s`), plain `0`, and ISO 8601 without years and months (`PT30S`, `P1DT12H`, `P2W`).
// Negative durations do not exist.
Result<Duration> parse_duration(std::string_view text);

// The shortest form that parse_duration reads back: `90s` prints as `1m30s`.
std::string format_duration(Duration value);

// RFC 3339 with any offset and up to 9 digits of fraction (those below a microsecond are cut), 1970 .. 9999.
Result<Instant> parse_instant(std::string_view text);

// `2026-03-01T09:00:00.25Z`. Instants outside 1970 .. 9999 print as the nearest end.
std::string format_instant(Instant at);

struct Rate {
  std::int64_t count = 0;
  Duration per{};
  bool operator==(const Rate&) const = default;
};

// `100/sec` `30/min` `5/hour` `1000/day`; count 1 .. 1,000,000,000.
Result<Rate> parse_rate(std::string_view text);
std::string format_rate(Rate rate);

}  // namespace semel::base
