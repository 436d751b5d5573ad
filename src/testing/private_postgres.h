// A PostgreSQL server of one test: to be started with odd settings, killed, made a replica.
#pragma once

#include <string>

namespace semel::testing {

class PrivatePostgres {
 public:
  // Makes a cluster in a temporary folder; not started. Uses the binaries of the server that SEMEL_TEST_PG names.
  PrivatePostgres();
  ~PrivatePostgres();

  // `settings` like "-c fsync=off". Waits until it accepts connections.
  void start(const std::string& settings = "");
  void stop();
  void kill_hard();       // SIGKILL to all its processes: no checkpoint, no goodbye
  void become_replica();  // for the next start

  std::string url() const { return "postgres://postgres@/postgres?host=" + folder_; }
  std::string socket_path() const { return folder_ + "/.s.PGSQL.5432"; }

 private:
  void run(const std::string& command) const;

  std::string folder_;
  std::string bin_;
  bool running_ = false;
};

}  // namespace semel::testing
