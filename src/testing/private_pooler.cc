// Starts and stops a private pgbouncer.
#include "testing/private_pooler.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace semel::testing {
namespace {

// It refuses to run as the superuser of the machine.
bool run(const std::string& command) {
  const std::string whole = geteuid() == 0 ? "cd / && runuser -u postgres -- " + command : command;
  return std::system(whole.c_str()) == 0;
}

bool takes_connections(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool taken = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return taken;
}

}  // namespace

PrivatePooler::PrivatePooler(const std::string& server_folder, const std::string& server_port,
                             const std::string& settings) {
  std::string pattern = "/tmp/semel-pooler.XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  std::ofstream(folder_ + "/pgbouncer.ini")
      << "[databases]\n* = host=" << server_folder << " port=" << server_port << " user=postgres\n"
      << "[pgbouncer]\nlisten_addr =\nlisten_port = 5432\nunix_socket_dir = " << folder_ << "\nauth_type = any\n"
      << "logfile = " << folder_ << "/log\npidfile = " << folder_ << "/pid\n"
      << settings << "\n";
  if (geteuid() == 0 && std::system(("chown -R postgres " + folder_).c_str()) != 0)
    throw std::runtime_error("chown failed");
  if (!run("pgbouncer -q -d " + folder_ + "/pgbouncer.ini"))
    throw std::runtime_error("pgbouncer does not start: the Debian package pgbouncer is needed (./dev setup)");
  // Its first process ends before the second one listens.
  for (int i = 0; i < 10'000 && !takes_connections(folder_ + "/.s.PGSQL.5432"); ++i) ::poll(nullptr, 0, 1);
}

PrivatePooler::~PrivatePooler() {
  // SIGTERM ends it at once; then its pid file is gone.
  const std::string script = "pid=$(cat " + folder_ +
                             "/pid 2>/dev/null) && kill -TERM $pid && while [ -e /proc/$pid ] " +
                             "&& ! grep -q 'State:.Z' /proc/$pid/status 2>/dev/null; do :; done; rm -rf " + folder_;
  [[maybe_unused]] const int stopped = std::system(script.c_str());
}

}  // namespace semel::testing
