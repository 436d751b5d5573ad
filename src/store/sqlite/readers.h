// Read-only connections, lent to one thread at a time. They never write and never checkpoint.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "semel/time.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

class Readers {
 public:
  // `limit`: how long one loan may run statements.
  Readers(std::string path, std::string vfs, int count, int cache_kib, Duration limit)
      : path_(std::move(path)), vfs_(std::move(vfs)), count_(count), cache_kib_(cache_kib), limit_(limit) {}

  class Loan {
   public:
    Loan(Readers& pool, std::unique_ptr<Connection> connection) : pool_(pool), connection_(std::move(connection)) {}
    ~Loan() { pool_.give_back(std::move(connection_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Connection& operator*() { return *connection_; }
    Connection* operator->() { return connection_.get(); }

   private:
    Readers& pool_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits for a free connection. `limited` is false only for maintenance, which may take as long as it needs.
  Loan lend(bool limited = true);

 private:
  void give_back(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> open();

  const std::string path_;
  const std::string vfs_;
  const int count_;
  const int cache_kib_;
  const Duration limit_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  int open_ = 0;
};

}  // namespace semel::store::sqlite
