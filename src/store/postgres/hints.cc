#include "store/postgres/hints.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace semel::store::postgres {
namespace {

constexpr std::size_t kMaxLanes = 64;
constexpr std::size_t kMaxIds = 16;
constexpr Duration kLongestPause = std::chrono::seconds(2);

void append_lanes(std::string& out, char tag, const std::vector<core::LaneId>& lanes) {
  if (lanes.empty()) return;
  if (!out.empty()) out.push_back(';');
  out.push_back(tag);
  if (lanes.size() > kMaxLanes) out.push_back('*');
  else
    for (std::size_t i = 0; i < lanes.size(); ++i)
      out += (i > 0 ? "," : "") + std::to_string(static_cast<std::int32_t>(lanes[i]));
}

void append_ids(std::string& out, char tag, const std::vector<ExecutionId>& ids) {
  if (ids.empty() || ids.size() > kMaxIds) return;
  if (!out.empty()) out.push_back(';');
  out.push_back(tag);
  for (std::size_t i = 0; i < ids.size(); ++i) out += (i > 0 ? "," : "") + ids[i].to_string();
}

template <class Each>
bool split(std::string_view text, char by, Each each) {
  while (!text.empty()) {
    const auto end = text.find(by);
    if (!each(text.substr(0, end))) return false;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return true;
}

bool decode_lane(std::string_view word, std::vector<core::LaneId>& out) {
  std::int32_t number = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), number).ec != std::errc{}) return false;
  out.push_back(core::LaneId{number});
  return true;
}

bool decode_id(std::string_view word, std::vector<ExecutionId>& out) {
  const auto id = ExecutionId::parse(word);
  if (id) out.push_back(*id);
  return id.has_value();
}

}  // namespace

std::string encode_hint(const Wakes& wakes) {
  std::string out;
  append_lanes(out, 'l', wakes.lanes);
  append_lanes(out, 'a', wakes.alone);
  append_lanes(out, 'r', wakes.runs);
  append_ids(out, 'e', wakes.ended);
  append_ids(out, 'c', wakes.cancel_requested);
  append_ids(out, 'm', wakes.mailed);
  return out;
}

bool decode_hint(std::string_view text, Wakes& wakes) {
  return split(text, ';', [&](std::string_view part) {
    if (part.empty()) return false;
    const char tag = part.front();
    part.remove_prefix(1);
    return split(part, ',', [&](std::string_view word) {
      if (tag == 'l') return decode_lane(word, wakes.lanes);
      if (tag == 'a') return decode_lane(word, wakes.alone);
      if (tag == 'r') return decode_lane(word, wakes.runs);
      if (tag == 'm') return decode_id(word, wakes.mailed);
      if (tag == 'e') return decode_id(word, wakes.ended);
      return tag == 'c' && decode_id(word, wakes.cancel_requested);
    });
  });
}

HintListener::HintListener(PgOptions options, std::function<bool(int)> is_own)
    : options_(std::move(options)),
      is_own_(std::move(is_own)),
      next_pause_(options_.reconnect_pause),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HintListener::~HintListener() {
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

bool HintListener::connect() {
  auto opened = Connection::open(options_, Role{"semel hints", std::chrono::seconds(1), false});
  if (!opened) return false;
  try {
    (*opened)->queue_text("listen semel");
    (*opened)->run();
  } catch (const PgError&) {
    return false;
  }
  connection_ = std::move(*opened);
  pid_.store(connection_->backend_pid(), std::memory_order_relaxed);
  next_pause_ = options_.reconnect_pause;
  return true;
}

void HintListener::pause(Duration timeout) {
  pollfd fd{wake_fd_, POLLIN, 0};
  ::poll(&fd, 1, static_cast<int>(std::min(timeout, next_pause_).count() / 1000 + 1));
  next_pause_ = std::min(next_pause_ * 2, kLongestPause);
}

void HintListener::clear_interrupt() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto read = ::read(wake_fd_, &count, sizeof count);
}

void HintListener::interrupt() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

Store::Hints HintListener::wait(Duration timeout) {
  Store::Hints out;
  if (!connection_) {
    if (!connect()) pause(timeout);
    else out.all = true;
    clear_interrupt();
    return out;
  }
  try {
    for (const auto& heard : connection_->wait_notifications(timeout, wake_fd_)) {
      if (is_own_(heard.from_pid)) continue;
      if (!decode_hint(heard.payload, out.wakes)) out.all = true;
    }
  } catch (const PgError&) {
    connection_.reset();
    pid_.store(0, std::memory_order_relaxed);
  }
  clear_interrupt();
  return out;
}

}  // namespace semel::store::postgres
