#include "base/duration.h"

#include <array>
#include <optional>

#include "base/text.h"

namespace semel::base {
namespace {

constexpr std::int64_t kMicro = 1;
constexpr std::int64_t kMilli = 1000;
constexpr std::int64_t kSecond = 1000 * kMilli;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kHour = 60 * kMinute;
constexpr std::int64_t kDay = 24 * kHour;
constexpr std::int64_t kWeek = 7 * kDay;

struct Unit {
  std::string_view name;
  std::int64_t micros;
};

// Largest first: the order in which parts may follow each other.
constexpr std::array kUnits = {Unit{"w", kWeek},   Unit{"d", kDay},    Unit{"h", kHour},  Unit{"m", kMinute},
                               Unit{"s", kSecond}, Unit{"ms", kMilli}, Unit{"us", kMicro}};
constexpr std::array kIsoDateUnits = {Unit{"W", kWeek}, Unit{"D", kDay}};
constexpr std::array kIsoTimeUnits = {Unit{"H", kHour}, Unit{"M", kMinute}, Unit{"S", kSecond}};

Error bad_duration(std::string_view text, const char* why) {
  return make_error(ErrorCode::InvalidArgument,
                    "invalid duration " + printable(text) + ": " + why +
                        "; write 250ms, 30s, 5m, 2h, 7d, 1h30m or ISO 8601 such as PT30S or P1DT12H");
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  bool done() const { return left_.empty(); }
  bool take(char c) {
    if (left_.empty() || left_.front() != c) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::string_view digits() {
    std::size_t n = 0;
    while (n < left_.size() && is_digit(left_[n])) ++n;
    return take_prefix(n);
  }
  std::string_view letters() {
    std::size_t n = 0;
    while (n < left_.size() && ((left_[n] >= 'a' && left_[n] <= 'z') || (left_[n] >= 'A' && left_[n] <= 'Z'))) ++n;
    return take_prefix(n);
  }
  std::string_view letter() { return take_prefix(left_.empty() ? 0 : 1); }

 private:
  std::string_view take_prefix(std::size_t n) {
    const std::string_view out = left_.substr(0, n);
    left_.remove_prefix(n);
    return out;
  }
  std::string_view left_;
};

std::optional<std::int64_t> to_int(std::string_view digits) {
  std::int64_t out = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(out, std::int64_t{10}, &out) || __builtin_add_overflow(out, c - '0', &out)) {
      return std::nullopt;
    }
  }
  return out;
}

// `.5` of an hour in microseconds; empty when it is not a whole number of them.
std::optional<std::int64_t> fraction_of(std::string_view digits, std::int64_t unit) {
  std::int64_t out = 0;
  std::int64_t scale = unit;
  for (const char c : digits) {
    if (c != '0' && (scale == 0 || scale % 10 != 0)) return std::nullopt;
    scale /= 10;
    out += (c - '0') * scale;
  }
  return out;
}

// One `<number><unit>` after the number has been told apart from its unit.
const char* add_part(std::string_view whole, std::string_view fraction, std::int64_t unit, std::int64_t& total) {
  const auto count = to_int(whole);
  std::int64_t part = 0;
  if (!count || __builtin_mul_overflow(*count, unit, &part)) return "it is too long";
  const auto rest = fraction_of(fraction, unit);
  if (!rest) return "it is finer than a microsecond";
  if (__builtin_add_overflow(part, *rest, &part) || __builtin_add_overflow(total, part, &total))
    return "it is too long";
  return nullptr;
}

// Reads parts to the end; each unit must be smaller than the one before.
template <std::size_t N>
const char* add_parts(Scanner& in, const std::array<Unit, N>& units, bool iso, std::int64_t& total) {
  std::size_t next_unit = 0;
  bool fraction_seen = false;
  int parts = 0;
  while (!in.done()) {
    const std::string_view whole = in.digits();
    if (whole.empty()) return "expected a number";
    if (fraction_seen) return "only the last part may have a fraction";
    std::string_view fraction;
    if (in.take('.')) {
      fraction = in.digits();
      if (fraction.empty()) return "expected digits after the point";
      fraction_seen = true;
    }
    const std::string_view name = iso ? in.letter() : in.letters();
    if (name.empty()) return "the unit is missing";
    std::size_t unit = 0;
    while (unit < N && units[unit].name != name) ++unit;
    if (unit == N) return iso ? "years and months have no fixed length, and other units are unknown" : "unknown unit";
    if (unit < next_unit) return "units must go from large to small, each once";
    next_unit = unit + 1;
    if (const char* why = add_part(whole, fraction, units[unit].micros, total)) return why;
    ++parts;
  }
  return parts > 0 || iso ? nullptr : "it is empty";
}

const char* parse_iso(std::string_view after_p, std::int64_t& total) {
  const std::size_t t = after_p.find('T');
  const std::string_view date = after_p.substr(0, t);
  const std::string_view time = t == after_p.npos ? std::string_view() : after_p.substr(t + 1);
  if (t != after_p.npos && time.empty()) return "nothing after T";
  if (date.empty() && time.empty()) return "it is empty";
  Scanner date_in(date);
  if (const char* why = add_parts(date_in, kIsoDateUnits, true, total)) return why;
  Scanner time_in(time);
  return add_parts(time_in, kIsoTimeUnits, true, total);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  if (text.empty()) return bad_duration(text, "it is empty");
  if (text == "0") return Duration{0};
  if (text.front() == '-') return bad_duration(text, "negative durations do not exist");
  std::int64_t total = 0;
  const char* why = nullptr;
  if (text.front() == 'P') {
    why = parse_iso(text.substr(1), total);
  } else {
    Scanner in(text);
    why = add_parts(in, kUnits, false, total);
  }
  if (why != nullptr) return bad_duration(text, why);
  return Duration{total};
}

std::string format_duration(Duration value) {
  if (value.count() == 0) return "0s";
  std::string out = value.count() < 0 ? "-" : "";
  auto left = static_cast<std::uint64_t>(value.count());
  if (value.count() < 0) left = 0 - left;
  for (const Unit& unit : kUnits) {
    if (unit.micros == kWeek) continue;  // people say 14d, not 2w
    const auto size = static_cast<std::uint64_t>(unit.micros);
    if (left < size) continue;
    out += std::to_string(left / size);
    out += unit.name;
    left %= size;
  }
  return out;
}

Result<Rate> parse_rate(std::string_view text) {
  constexpr std::int64_t kMaxCount = 1'000'000'000;
  struct Period {
    std::string_view name;
    std::int64_t micros;
  };
  static constexpr std::array kPeriods = {Period{"s", kSecond}, Period{"sec", kSecond}, Period{"second", kSecond},
                                          Period{"m", kMinute}, Period{"min", kMinute}, Period{"minute", kMinute},
                                          Period{"h", kHour},   Period{"hour", kHour},  Period{"d", kDay},
                                          Period{"day", kDay}};
  Scanner in(text);
  const auto count = to_int(in.digits());
  const bool slash = in.take('/');
  const std::string_view name = in.letters();
  if (slash && in.done() && count && *count >= 1 && *count <= kMaxCount) {
    for (const Period& period : kPeriods) {
      if (period.name == name) return Rate{*count, Duration{period.micros}};
    }
  }
  return make_error(ErrorCode::InvalidArgument, "invalid rate " + printable(text) +
                                                    ": write COUNT/PERIOD with a count of 1 .. 1000000000 and a " +
                                                    "period of sec, min, hour or day, such as 100/sec");
}

std::string format_rate(Rate rate) {
  const std::string count = std::to_string(rate.count);
  switch (rate.per.count()) {
    case kSecond:
      return count + "/sec";
    case kMinute:
      return count + "/min";
    case kHour:
      return count + "/hour";
    case kDay:
      return count + "/day";
    default:
      return count + "/" + format_duration(rate.per);
  }
}

}  // namespace semel::base
