// A PostgreSQL server of one test: to be started with odd settings, killed, copied into a standby, promoted.
#pragma once

#include <string>

#include "store/postgres/binary.h"

namespace semel::testing {

class PrivatePostgres {
 public:
  // Makes a cluster in a temporary folder; not started. Uses the binaries of the server that SEMEL_TEST_PG names.
  PrivatePostgres();
  // A standby of `primary`, which runs: a copy of its data that follows it once it is started. `name` is its
  // application_name there, for synchronous_standby_names.
  PrivatePostgres(const PrivatePostgres& primary, const std::string& name);
  ~PrivatePostgres();
  PrivatePostgres(const PrivatePostgres&) = delete;
  PrivatePostgres& operator=(const PrivatePostgres&) = delete;

  // `settings` like "-c fsync=off". Waits until it accepts connections.
  void start(const std::string& settings = "");
  void stop();
  void kill_hard();       // SIGKILL to all its processes: no checkpoint, no goodbye
  void become_replica();  // for the next start
  void promote();         // returns when it accepts writes, on a timeline of its own
  // `alter system set NAME = 'VALUE'`, and the server has read it.
  void set(const std::string& name, const std::string& value);
  // Rows of one statement on a connection of its own.
  store::postgres::Rows query(const std::string& sql) const;

  std::string url() const { return url_of(folder_); }
  // Whichever of the two accepts writes.
  std::string url_with(const PrivatePostgres& other) const { return url_of(folder_ + "," + other.folder_); }
  std::string socket_path() const { return folder_ + "/.s.PGSQL.5432"; }

 private:
  static std::string url_of(const std::string& hosts) { return "postgres://postgres@/postgres?host=" + hosts; }
  void make_folder();
  void run(const std::string& command) const;

  std::string folder_;
  std::string bin_;
  bool running_ = false;
};

}  // namespace semel::testing
