// A pgbouncer of one test, in front of a PostgreSQL server's unix socket.
#pragma once

#include <string>

namespace semel::testing {

class PrivatePooler {
 public:
  // `server`: folder and port of the server's socket. `settings`: lines of pgbouncer.ini, like "pool_mode = session".
  PrivatePooler(const std::string& server_folder, const std::string& server_port, const std::string& settings);
  ~PrivatePooler();
  PrivatePooler(const PrivatePooler&) = delete;
  PrivatePooler& operator=(const PrivatePooler&) = delete;

  std::string url(const std::string& database) const {
    return "postgres://postgres@/" + database + "?host=" + folder_ + "&port=5432";
  }

 private:
  std::string folder_;
};

}  // namespace semel::testing
