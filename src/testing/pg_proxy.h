// A proxy in front of a PostgreSQL server's unix socket that breaks connections at chosen instants.
//
// It reads the protocol: what a client sends between two Syncs is one segment, what the server says up to
// ReadyForQuery its answer. A segment passes as a whole or is struck.
#pragma once

#include <atomic>
#include <cstddef>
#include <list>
#include <mutex>
#include <string>
#include <thread>

namespace semel::testing {

class PgProxy {
 public:
  enum class Fault {
    none,
    cut_before,     // the segment never reaches the server
    cut_inside,     // half of its bytes do
    cut_after,      // it is carried out, nothing of its answer reaches the client
    cut_answer,     // half of the bytes of its answer do
    cut_end,        // all of its answer but that the server is ready again
    late,           // the client is cut off first, the segment reaches the server a moment later
    pooler_before,  // as a pooler whose server died: an error of its own instead of the segment
    pooler_after,   // the same behind it, instead of the answer
    stall,          // nothing passes any more on that connection, in either direction
  };
  enum class Where {
    commit,  // at a segment that commits
    any,
  };

  // `socket_path`: the server's socket file.
  explicit PgProxy(std::string socket_path);
  ~PgProxy();

  // Folder to give to libpq as host; the port is 5432.
  const std::string& folder() const { return folder_; }
  // Strikes once, at a segment of any connection; `skip` of them pass before.
  void arm(Fault fault, Where where = Where::commit, int skip = 0);
  bool struck() const { return struck_.load(); }
  // While it is on nothing passes on any connection, and new ones are taken and never answered.
  void black_hole(bool on) { black_hole_ = on; }

 private:
  struct Link;
  struct Served {
    std::thread thread;
    std::atomic<bool> over{false};
  };
  void accept_loop();
  void serve(int client);
  void reap();
  Fault strikes(const std::string& segment);

  const std::string socket_path_;
  std::string folder_;
  int listener_ = -1;
  int stop_fd_ = -1;
  std::mutex mutex_;
  Fault fault_ = Fault::none;
  Where where_ = Where::commit;
  int skip_ = 0;
  std::atomic<bool> struck_{false};
  std::atomic<bool> black_hole_{false};
  std::list<Served> served_;  // of the acceptor's thread
  std::thread acceptor_;
};

}  // namespace semel::testing
