// A proxy in front of a PostgreSQL server's unix socket that can break a connection at a chosen instant.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace semel::testing {

class PgProxy {
 public:
  enum class Fault {
    none,
    cut_before,  // what commits never reaches the server
    cut_after,   // it commits, its answer does not reach the client
    cut_end,     // it commits, and all of the answer reaches the client but that the server is ready again
    stall,       // nothing passes any more in either direction
  };

  // `socket_path`: the server's socket file.
  explicit PgProxy(std::string socket_path);
  ~PgProxy();

  // Folder to give to libpq as host; the port is 5432.
  const std::string& folder() const { return folder_; }
  // Strikes once, at the next end of a batch of any connection (`stall`: at the next message).
  void arm(Fault fault);
  bool struck() const { return struck_.load(); }

 private:
  void accept_loop();
  void serve(int client);
  Fault take_fault(const std::string& sent);

  std::string socket_path_;
  std::string folder_;
  int listener_ = -1;
  int stop_fd_ = -1;
  std::atomic<Fault> fault_{Fault::none};
  std::atomic<bool> struck_{false};
  std::mutex mutex_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace semel::testing
