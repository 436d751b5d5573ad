// The words of the lifecycle. One spelling everywhere: C++ enumerator = JSON = SQL view = TOML = docs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace semel {

// Numbers are stored; never renumber, never reuse.
enum class Kind : std::uint8_t { task = 0, workflow = 1 };

enum class Status : std::uint8_t {
  queued = 0,
  claimed = 1,
  running = 2,
  suspended = 3,
  succeeded = 4,
  failed = 5,
  cancelled = 6,
  timed_out = 7,
  dead_lettered = 8,
};
inline constexpr int kStatusCount = 9;

// A terminal row never changes again, not one byte.
constexpr bool is_terminal(Status status) { return status >= Status::succeeded; }

// What happens to an id whose newest execution is terminal.
enum class Reuse : std::uint8_t { failed_only = 0, never = 1, always = 2 };

// What a duplicate is told. `replace` is for workflows only.
enum class OnDuplicate : std::uint8_t { return_existing = 0, reject = 1, replace = 2 };

// Words as they are printed. `OnDuplicate::return_existing` prints "return".
std::string_view to_string(Kind value);
std::string_view to_string(Status value);
std::string_view to_string(Reuse value);
std::string_view to_string(OnDuplicate value);

// Parse a printed word. Status also accepts the aliases `pending` and `completed`, which are never printed.
std::optional<Kind> kind_from_string(std::string_view word);
std::optional<Status> status_from_string(std::string_view word);
std::optional<Reuse> reuse_from_string(std::string_view word);
std::optional<OnDuplicate> on_duplicate_from_string(std::string_view word);

}  // namespace semel
