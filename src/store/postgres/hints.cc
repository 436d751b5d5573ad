#include "store/postgres/hints.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "base/base64.h"
#include "store/postgres/codec.h"
#include "store/postgres/statements.h"

namespace semel::store::postgres {
namespace {

constexpr std::size_t kMaxLanes = 64;
constexpr std::size_t kMaxIds = 16;
constexpr Duration kLongestPause = std::chrono::seconds(2);
constexpr std::size_t kMaxHint = 7900;  // bytes; PostgreSQL takes 7999

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

template <class Number>
bool decode_number(std::string_view word, Number& out) {
  return std::from_chars(word.data(), word.data() + word.size(), out).ec == std::errc{};
}

bool decode_lane(std::string_view word, std::vector<core::LaneId>& out) {
  std::int32_t number = 0;
  if (!decode_number(word, number)) return false;
  out.push_back(core::LaneId{number});
  return true;
}

bool decode_id(std::string_view word, std::vector<ExecutionId>& out) {
  const auto id = ExecutionId::parse(word);
  if (id) out.push_back(*id);
  return id.has_value();
}

bool decode_offer(const std::vector<std::string_view>& words, std::vector<core::TaskClaim>& out) {
  core::TaskClaim claim;
  if (words.size() < 6) return false;
  const auto id = ClaimId::parse(words[0]);
  const auto session = SessionId::parse(words[1]);
  std::int64_t lease = 0;
  std::int32_t limit = 0;
  auto worker = base::from_base64(words[4]);
  if (!id || !session || !decode_number(words[2], lease) || !decode_number(words[3], limit) || !worker) return false;
  for (std::size_t i = 5; i < words.size(); ++i) {
    std::vector<core::LaneId> lane;
    if (!decode_lane(words[i], lane)) return false;
    claim.lanes.push_back({lane.front(), limit, false});
  }
  claim.id = *id;
  claim.session = *session;
  claim.lease = Duration{lease};
  claim.worker = *std::move(worker);
  claim.takes = core::Takes::fresh;
  out.push_back(std::move(claim));
  return true;
}

bool decode_hand_over(const std::vector<std::string_view>& words, std::vector<HandOver>& out) {
  const auto claim = words.size() < 2 ? std::nullopt : ClaimId::parse(words[0]);
  const auto session = words.size() < 2 ? std::nullopt : SessionId::parse(words[1]);
  if (!claim || !session) return false;
  HandOver handed{*claim, *session, {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto bytes = base::from_base64(words[i]);
    if (!bytes) return false;
    core::ClaimedTask task;
    try {
      decode_task(*bytes, task.execution, task.payload);
    } catch (const std::exception&) {
      return false;
    }
    handed.tasks.push_back(std::move(task));
  }
  out.push_back(std::move(handed));
  return true;
}

}  // namespace

std::string encode_offer(const core::TaskClaim& claim) {
  std::string out =
      "o" + claim.id.to_string() + "," + claim.session.to_string() + "," + std::to_string(claim.lease.count()) + "," +
      std::to_string(claim.lanes.empty() ? 0 : claim.lanes.front().limit) + "," + base::to_base64(claim.worker);
  const std::size_t count = std::min(claim.lanes.size(), kMaxLanes);
  for (std::size_t i = 0; i < count; ++i) out += "," + std::to_string(static_cast<std::int32_t>(claim.lanes[i].lane));
  return out;
}

std::map<std::string, std::string> encode_hand_over(const core::RowCache& cache) {
  struct Claim {
    std::string head, tasks;
  };
  std::map<std::string, std::map<ClaimId, Claim>> all;
  for (const auto& one : cache.handed) {
    Claim& claim = all[one.tell][one.claim];
    claim.head = "h" + one.claim.to_string() + "," + cache.leases.find(one.claim)->session.to_string();
    claim.tasks +=
        "," + base::to_base64(encode_task(*cache.executions.find(one.execution), *cache.payloads.find(one.execution)));
  }
  std::map<std::string, std::string> out;
  for (const auto& [tell, claims] : all) {
    std::size_t left = kMaxHint - std::min(kMaxHint, claims.size() * 80);
    for (const auto& [id, claim] : claims) {
      std::string& text = out[tell];
      text += (text.empty() ? "" : ";") + claim.head;
      if (claim.tasks.size() > left) continue;
      text += claim.tasks;
      left -= claim.tasks.size();
    }
  }
  return out;
}

std::string private_channel(const std::string& channel, std::string_view backend) {
  return channel + "_" + std::string(backend);
}

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
    if (tag == 'o' || tag == 'h') {
      std::vector<std::string_view> words;
      split(part, ',', [&](std::string_view word) {
        words.push_back(word);
        return true;
      });
      return tag == 'o' ? decode_offer(words, wakes.offers) : decode_hand_over(words, wakes.handed);
    }
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

HintListener::HintListener(PgOptions options, std::function<bool(int)> is_own, const KnownHistory& history)
    : options_(std::move(options)),
      is_own_(std::move(is_own)),
      known_(history),
      next_pause_(options_.reconnect_pause),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HintListener::~HintListener() {
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

bool HintListener::connect() {
  {
    const std::lock_guard lock(said_mutex_);
    said_.clear();  // of another time
  }
  auto opened = Connection::open(options_, Role{"semel hints", std::chrono::seconds(1), false});
  if (!opened) return false;
  try {
    history_ = known_.number();
    channel_ = known_.channel();
    (*opened)->queue_text("listen \"" + channel_ + "\"");
    (*opened)->queue_text("listen \"" + private_channel(channel_, std::to_string((*opened)->backend_pid())) + "\"");
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

void HintListener::offer(const core::TaskClaim& claim) {
  {
    const std::lock_guard lock(said_mutex_);
    said_.push_back(encode_offer(claim));
  }
  interrupt();
}

void HintListener::send_said() {
  std::vector<std::string> hints;
  {
    const std::lock_guard lock(said_mutex_);
    hints.swap(said_);
  }
  if (hints.empty()) return;
  for (const std::string& hint : hints)
    connection_->queue_text(statements::notify.text, Params().bytes(hint).bytes(channel_));
  connection_->run();
}

Store::Hints HintListener::wait(Duration timeout) {
  Store::Hints out;
  if (history_ != known_.number()) connection_.reset();
  if (!connection_) {
    if (!connect()) pause(timeout);
    else out.all = true;
    clear_interrupt();
    return out;
  }
  try {
    send_said();
    for (const auto& heard : connection_->wait_notifications(timeout, wake_fd_)) {
      if (heard.from_pid == backend_pid() || is_own_(heard.from_pid)) continue;
      const std::size_t known = out.wakes.offers.size();
      if (!decode_hint(heard.payload, out.wakes)) out.all = true;
      for (std::size_t i = known; i < out.wakes.offers.size(); ++i)
        out.wakes.offers[i].tell = std::to_string(heard.from_pid);
    }
  } catch (const PgError&) {
    connection_.reset();
    pid_.store(0, std::memory_order_relaxed);
  }
  clear_interrupt();
  return out;
}

}  // namespace semel::store::postgres
