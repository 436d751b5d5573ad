// One connection to PostgreSQL in pipeline mode. The only file that talks libpq to the server.
//
// Statements are queued and travel together; `run` sends them and waits for all answers: one round trip. Every wait has
// a deadline, so no caller hangs on a dead server. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semel/result.h"
#include "store/postgres/binary.h"
#include "store/postgres/dial.h"
#include "store/postgres/options.h"

struct pg_conn;

namespace semel::store::postgres {

// `{execution}` in the text stands for the column list of codec.h.
struct Statement {
  std::string_view name;
  std::string_view text;
};

// A statement failed, or the connection did.
struct PgError {
  std::string sqlstate;  // empty: the connection failed without a word from the server
  std::string message;
  std::string constraint;  // of a constraint violation
  bool lost = false;       // the connection is gone
  std::size_t at = 0;      // which queued statement failed, from 0; the ones after it did not run
  bool foreign =
      false;  // not the server's word: a pooler's, or libpq's own. It proves nothing, and the connection is gone
  bool timed_out = false;  // nobody answered in time
};

// `sqlstate` where a wait for the standbys was cancelled: what was sent is committed on this server. The server says so
// by a warning only.
inline constexpr std::string_view kCancelledWait = "01000";

// What this connection is for. Once it is known that the session is its own (pooler.h), all settings that answers could
// depend on are pinned, whatever the server, the database or the role say.
struct Role {
  std::string_view application;
  Duration lock_timeout{0};
  bool read_only = false;
};

// Composite types of the schema that rows travel in.
enum class RowType : std::uint8_t { new_identity, new_execution, new_ready, success };
inline constexpr std::size_t kRowTypes = 4;

class Connection {
 public:
  // Opens and pins the settings. Blocks up to the connect timeout. StoreNotFound, StoreUnavailable; Unsupported behind
  // a pooler that does not give it a session of its own.
  static Result<std::unique_ptr<Connection>> open(const PgOptions& options, const Role& role);
  // Without a look for poolers and without settings: nothing may be done with it that outlives a transaction.
  static Result<std::unique_ptr<Connection>> open_bare(const PgOptions& options, std::string_view application);
  // Behind a pooler the server's session lives on: it is given back as it was taken.
  ~Connection();

  // Prepares statements, all in one round trip.
  Result<void> prepare(std::span<const Statement> statements);

  // Asks for the numbers of the row types. Before the first statement that uses one.
  Result<void> learn_row_types();
  std::uint32_t number_of_type(RowType type) const { return row_types_[static_cast<std::size_t>(type)]; }

  // Queues; answers the index of its rows in what `run` returns.
  std::size_t queue(const Statement& statement, const Params& params = {});
  // Queues text that was not prepared.
  std::size_t queue_text(std::string_view sql, const Params& params = {});
  std::size_t queued() const { return queued_; }

  // Sends what is queued and waits for the answers. Throws PgError: then no statement after the failed one ran, and an
  // open transaction is still to be rolled back (unless the connection is lost).
  //
  // Without BEGIN what is sent together is one transaction, which its end commits: then that has to be heard of, and an
  // error behind the last statement is the commit's.
  enum class End { says_nothing, commits };
  std::vector<Rows> run(End end = End::says_nothing);
  // Like run, and sends `after` behind it without waiting: it runs whatever became of the rest.
  std::vector<Rows> run_then(const Statement& after, const Params& params, End end = End::says_nothing);
  // Sends what is queued and does not wait. Errors of these statements are not reported.
  void send();

  // Runs text with several statements, outside a pipeline. For migrations. Throws PgError.
  void script(const std::string& sql);

  bool lost() const { return lost_; }
  int backend_pid() const { return backend_; }  // the server's process, also behind a pooler
  int announced_pid() const;                    // what was told at connect; a pooler invents it

  // LISTEN side: waits until the server says something, `wake_fd` is readable or the timeout passes.
  // Returns the payloads received. Throws PgError when the connection is lost.
  struct Notification {
    int from_pid = 0;
    std::string payload;
  };
  std::vector<Notification> wait_notifications(Duration timeout, int wake_fd);

 private:
  Connection(PgHandle connection, const PgOptions& options);
  pg_conn* raw() const { return connection_.get(); }
  Result<void> settle(const PgOptions& options, const Role& role);
  void discard_session();
  std::size_t end_segment();
  std::vector<Rows> collect(std::size_t count, std::size_t behind, End end);
  std::optional<PgError> read_segment(std::vector<Rows>& rows, std::int64_t deadline);
  void drain_unread(std::int64_t deadline);
  void flush(std::int64_t deadline);
  short wait_for(short events, std::int64_t deadline);
  pg_result* next_result(std::int64_t deadline);
  [[noreturn]] void fail_lost(std::size_t at, std::string what, bool timed_out = false);
  static void hear_notice(void* connection, const pg_result* notice);

  PgHandle connection_;
  Duration call_timeout_;
  std::shared_ptr<StopSignal> stop_;  // null: none
  int backend_ = 0;
  bool pooled_ = false;
  std::array<std::uint32_t, kRowTypes> row_types_{};
  std::size_t queued_ = 0;
  std::size_t unread_ = 0;  // segments sent without waiting, still to be read
  bool lost_ = false;
  std::string cancelled_wait_;  // what the server said of one in this segment
};

// Error of the error table for a PgError met outside a batch.
Error to_error(const PgError& error);

}  // namespace semel::store::postgres
