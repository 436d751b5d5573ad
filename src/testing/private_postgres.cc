#include "testing/private_postgres.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "testing/temp_postgres.h"

namespace semel::testing {
namespace {

// The server refuses to run as the superuser of the machine.
std::string as_server_user(const std::string& command) {
  return geteuid() == 0 ? "cd / && runuser -u postgres -- " + command : command;
}

}  // namespace

PrivatePostgres::PrivatePostgres()
    : bin_(TempPostgres().query("select setting from pg_config where name = 'BINDIR'").text(0, 0)) {
  std::string pattern = "/tmp/semel-server.XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  if (geteuid() == 0 && std::system(("chown postgres " + folder_).c_str()) != 0)
    throw std::runtime_error("chown failed");
  run(bin_ + "/initdb -D " + folder_ + "/data -U postgres -A trust -E UTF8 --locale=C --no-sync");
}

PrivatePostgres::~PrivatePostgres() {
  try {
    if (running_) run(bin_ + "/pg_ctl -D " + folder_ + "/data -m immediate stop");
  } catch (const std::exception&) {
  }
  [[maybe_unused]] const int removed = std::system(("rm -rf " + folder_).c_str());
}

void PrivatePostgres::run(const std::string& command) const {
  const std::string whole = as_server_user(command) + " >" + folder_ + "/last.log 2>&1";
  if (std::system(whole.c_str()) == 0) return;
  std::string log;
  for (const char* name : {"/last.log", "/server.log"}) {
    std::ifstream in(folder_ + name);
    log.append(std::istreambuf_iterator<char>(in), {});
  }
  throw std::runtime_error("failed: " + command + "\n" + log);
}

void PrivatePostgres::start(const std::string& settings) {
  run(bin_ + "/pg_ctl -D " + folder_ + "/data -l " + folder_ + "/server.log -w -o '-c listen_addresses= " +
      "-c unix_socket_directories=" + folder_ + " -c port=5432 -c shared_buffers=16MB " + settings + "' start");
  running_ = true;
}

void PrivatePostgres::stop() {
  run(bin_ + "/pg_ctl -D " + folder_ + "/data -m fast -w stop");
  running_ = false;
}

void PrivatePostgres::kill_hard() {
  // Dead is gone, or a zombie that nobody has reaped yet.
  const std::string script =
      "main=$(head -n 1 " + folder_ +
      "/data/postmaster.pid); all=\"$main $(pgrep -P $main)\"; "
      "kill -9 $all 2>/dev/null; for p in $all; do "
      "while [ -e /proc/$p ] && ! grep -q 'State:.Z' /proc/$p/status 2>/dev/null; do :; done; done; "
      "rm -f " +
      folder_ + "/data/postmaster.pid " + folder_ + "/.s.PGSQL.5432.lock";
  if (std::system(script.c_str()) != 0) throw std::runtime_error("cannot kill the server in " + folder_);
  running_ = false;
}

void PrivatePostgres::become_replica() { run("touch " + folder_ + "/data/standby.signal"); }

}  // namespace semel::testing
