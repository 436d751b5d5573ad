// A small pool of read-only connections. A read that loses its connection is asked once more on a new one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "semel/result.h"
#include "store/postgres/connection.h"
#include "store/postgres/history.h"

namespace semel::store::postgres {

class Readers {
 public:
  Readers(PgOptions options, KnownHistory& history)
      : options_(std::move(options)), history_(history), free_(static_cast<std::size_t>(options_.readers)) {}

  // Runs `work(connection)`; waits for a free connection, and a while for a server that is away.
  template <class T, class Work>
  Result<T> run(Work work) {
    const std::int64_t deadline = base::steady_micros() + options_.read_patience.count();
    for (int attempt = 0;; ++attempt) {
      const std::uint64_t history = history_.number();
      std::unique_ptr<Connection> connection = take();
      if (!connection) {
        auto opened = open();
        if (!opened) {
          give(nullptr);
          if (pause(opened.error(), deadline)) continue;
          return std::move(opened).error();
        }
        connection = std::move(*opened);
      }
      try {
        T answer = work(*connection);
        const bool over = history != history_.number();  // met meanwhile: this server may be the one that was overtaken
        give(over ? nullptr : std::move(connection));
        if (over && attempt == 0) continue;
        if (over)
          return make_error(ErrorCode::StoreUnavailable, "store: its history changed while it was read; ask again");
        return answer;
      } catch (const PgError& error) {
        const bool again = error.lost && (attempt == 0 || base::steady_micros() < deadline);
        give(error.lost ? nullptr : std::move(connection));
        if (!again) return to_error(error);
      } catch (const std::exception& error) {  // a row that cannot be read
        give(nullptr);
        return make_error(ErrorCode::StoreCorrupt, std::string("store: ") + error.what());
      }
    }
  }

 private:
  std::unique_ptr<Connection> take();
  void give(std::unique_ptr<Connection> connection);
  Result<std::unique_ptr<Connection>> open();
  // Until the next attempt. False: there is to be none.
  bool pause(const Error& why, std::int64_t deadline);

  const PgOptions options_;
  KnownHistory& history_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> free_;  // null: to be opened
  std::uint64_t opened_in_ = 0;                    // the history in which those were opened
  std::int64_t closed_until_ = 0;                  // after a failure: no attempt before
  Error closed_;                                   // that failure
};

}  // namespace semel::store::postgres
