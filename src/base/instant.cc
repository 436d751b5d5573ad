// RFC 3339 instants of base/duration.h.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/duration.h"
#include "base/text.h"

namespace semel::base {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Instant kFirst{};
constexpr Instant kLast = std::chrono::sys_days(std::chrono::year{9999} / 12 / 31) + days(1) - Duration(1);

Error bad_instant(std::string_view text, const char* why) {
  return make_error(ErrorCode::InvalidArgument, "invalid instant " + printable(text) + ": " + why +
                                                    "; write RFC 3339 such as 2026-03-01T09:00:00Z or " +
                                                    "2026-03-01T10:00:00.25+01:00");
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // Exactly `width` digits.
  bool number(std::size_t width, int& out) {
    if (text_.size() < width) return false;
    out = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (text_[i] < '0' || text_[i] > '9') return false;
      out = out * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(width);
    return true;
  }
  bool take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool done() const { return text_.empty(); }

  // 1 to 9 digits; those below a microsecond are read and dropped.
  bool fraction(int& micros) {
    int read = 0;
    int scale = 100'000;
    micros = 0;
    for (int digit = 0; number(1, digit); ++read) {
      micros += digit * scale;
      scale /= 10;
    }
    return read >= 1 && read <= 9;
  }

  bool offset(minutes& out) {
    if (take('Z') || take('z')) {
      out = minutes(0);
      return true;
    }
    const bool plus = take('+');
    if (!plus && !take('-')) return false;
    int h = 0;
    int m = 0;
    if (!number(2, h) || !take(':') || !number(2, m) || h > 23 || m > 59) return false;
    out = (plus ? 1 : -1) * (hours(h) + minutes(m));
    return true;
  }

 private:
  std::string_view text_;
};

struct Civil {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, micros = 0;
  minutes offset{0};
};

bool scan(Scanner& in, Civil& out) {
  if (!in.number(4, out.year) || !in.take('-') || !in.number(2, out.month) || !in.take('-') || !in.number(2, out.day)) {
    return false;
  }
  if (!in.take('T') && !in.take('t') && !in.take(' ')) return false;
  if (!in.number(2, out.hour) || !in.take(':') || !in.number(2, out.minute) || !in.take(':') ||
      !in.number(2, out.second)) {
    return false;
  }
  if (in.take('.') && !in.fraction(out.micros)) return false;
  return in.offset(out.offset) && in.done();
}

}  // namespace

Result<Instant> parse_instant(std::string_view text) {
  Scanner in(text);
  Civil c;
  if (!scan(in, c)) return bad_instant(text, "it is not RFC 3339 with an offset");
  const std::chrono::year_month_day date{std::chrono::year{c.year}, std::chrono::month(static_cast<unsigned>(c.month)),
                                         std::chrono::day(static_cast<unsigned>(c.day))};
  if (!date.ok()) return bad_instant(text, "there is no such day");
  if (c.hour > 23 || c.minute > 59 || c.second > 60) return bad_instant(text, "there is no such time of day");
  // A leap second can only be the last of a UTC day; it is the same instant as the midnight after it.
  const Instant minute = Instant(std::chrono::sys_days(date)) + hours(c.hour) + minutes(c.minute) - c.offset;
  if (c.second == 60 && (minute + minutes(1)).time_since_epoch() % days(1) != Duration(0)) {
    return bad_instant(text, "second 60 is only valid at 23:59 UTC");
  }
  const Instant at = minute + seconds(c.second) + Duration(c.second == 60 ? 0 : c.micros);
  if (at < kFirst || at > kLast) return bad_instant(text, "it is outside 1970 .. 9999");
  return at;
}

std::string format_instant(Instant at) {
  at = std::min(std::max(at, kFirst), kLast);
  const auto day = std::chrono::floor<days>(at);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss time{at - day};
  char buffer[40];
  int size = std::snprintf(buffer, sizeof buffer, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                           static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                           static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                           static_cast<int>(time.seconds().count()));
  std::string out(buffer, static_cast<std::size_t>(size));
  const auto micros = static_cast<int>(time.subseconds().count());
  if (micros != 0) {
    size = std::snprintf(buffer, sizeof buffer, ".%06d", micros);
    std::string_view fraction(buffer, static_cast<std::size_t>(size));
    out += fraction.substr(0, fraction.find_last_not_of('0') + 1);
  }
  out += 'Z';
  return out;
}

}  // namespace semel::base
