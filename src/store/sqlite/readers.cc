#include "store/sqlite/readers.h"

#include "base/clock.h"

namespace semel::store::sqlite {

Readers::Loan Readers::lend(bool limited) {
  std::unique_ptr<Connection> connection;
  {
    std::unique_lock lock(mutex_);
    freed_.wait(lock, [&] { return !idle_.empty() || open_ < count_; });
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    } else {
      ++open_;
    }
  }
  if (!connection) {
    try {
      connection = open();
    } catch (const SqliteFailure&) {
      give_back(nullptr);
      throw;
    }
  }
  connection->limit_until(limited ? base::steady_micros() + limit_.count() : 0);
  return Loan(*this, std::move(connection));
}

std::unique_ptr<Connection> Readers::open() {
  auto connection = std::make_unique<Connection>(path_, Access::read_only, vfs_);
  connection->never_checkpoint();
  constexpr int kBusyMilliseconds = 1000;
  connection->wait_for_locks(kBusyMilliseconds);
  connection->execute(
      "PRAGMA query_only = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY;"
      "PRAGMA cell_size_check = ON");
  connection->execute(("PRAGMA cache_size = -" + std::to_string(cache_kib_)).c_str());
  return connection;
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
  {
    std::lock_guard lock(mutex_);
    if (connection) {
      // A read that failed half-way must not keep its snapshot: it would hold the WAL.
      if (connection->is_reading()) {
        connection.reset();
        --open_;
      } else {
        idle_.push_back(std::move(connection));
      }
    } else {
      --open_;
    }
  }
  freed_.notify_one();
}

}  // namespace semel::store::sqlite
