// What standard output can show.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "cli/timeline.h"

namespace semel::cli {
namespace {

constexpr std::size_t kNarrowest = 40;

// https://no-color.org: set and not empty means no.
bool wants_colour() {
  const char* refused = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (refused == nullptr || *refused == '\0') && (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

TimelineStyle style_of_output(bool full) {
  TimelineStyle style;
  style.full = full;
  if (::isatty(STDOUT_FILENO) == 0) return style;
  style.colour = wants_colour();
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) style.width = size.ws_col;
  return style;
}

}  // namespace semel::cli
