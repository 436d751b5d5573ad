#include "store/postgres/readers.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "store/postgres/statements.h"
#include "store/postgres/stop_signal.h"

namespace semel::store::postgres {

std::unique_ptr<Connection> Readers::take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [&] { return !free_.empty(); });
  if (const auto now = history_.number(); std::exchange(opened_in_, now) != now)
    for (auto& connection : free_) connection.reset();
  // One that is open, if there is one.
  auto it = std::find_if(free_.begin(), free_.end(), [](const auto& c) { return c != nullptr; });
  if (it == free_.end()) it = free_.begin();
  std::unique_ptr<Connection> out = std::move(*it);
  free_.erase(it);
  return out;
}

void Readers::give(std::unique_ptr<Connection> connection) {
  {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

Result<std::unique_ptr<Connection>> Readers::open() {
  {
    const std::lock_guard lock(mutex_);
    if (base::steady_micros() < closed_until_) return closed_;
  }
  auto opened = Connection::open(options_, Role{"semel reader", std::chrono::seconds(5), true});
  if (opened) {
    auto found = find_history(**opened);
    if (!found) return std::move(found).error();
    if (auto met = history_.meet(*found); !met) return std::move(met).error();
  }
  if (opened)
    if (auto prepared = (*opened)->prepare(reader_statements()); !prepared) return std::move(prepared).error();
  if (!opened && opened.error().code == ErrorCode::StoreUnavailable) {
    const std::lock_guard lock(mutex_);
    closed_until_ = base::steady_micros() + options_.reconnect_pause.count();
    closed_ = opened.error();
  }
  return opened;
}

bool Readers::pause(const Error& why, std::int64_t deadline) {
  if (why.code != ErrorCode::StoreUnavailable || base::steady_micros() >= deadline) return false;
  pollfd fd{options_.stop ? options_.stop->fd() : -1, POLLIN, 0};
  ::poll(&fd, 1, static_cast<int>(options_.reconnect_pause.count() / 1000 + 1));
  return fd.revents == 0;
}

}  // namespace semel::store::postgres
