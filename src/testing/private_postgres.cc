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
  make_folder();
  run(bin_ + "/initdb -D " + folder_ + "/data -U postgres -A trust -E UTF8 --locale=C --no-sync");
}

PrivatePostgres::PrivatePostgres(const PrivatePostgres& primary, const std::string& name) : bin_(primary.bin_) {
  make_folder();
  run(bin_ + "/pg_basebackup -D " + folder_ + "/data -h " + primary.folder_ +
      " -p 5432 -U postgres -X stream -c fast " + "-R --no-sync");
  // Settings that came with the copy are the primary's.
  std::ofstream settings(folder_ + "/data/postgresql.auto.conf");
  settings << "primary_conninfo = 'host=" << primary.folder_ << " port=5432 user=postgres application_name=" << name
           << "'\nsynchronous_standby_names = ''\n";
  if (!settings.flush()) throw std::runtime_error("cannot write the settings of " + folder_);
}

void PrivatePostgres::make_folder() {
  std::string pattern = "/tmp/semel-server.XXXXXX";
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
  folder_ = pattern;
  if (geteuid() == 0 && std::system(("chown postgres " + folder_).c_str()) != 0)
    throw std::runtime_error("chown failed");
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

void PrivatePostgres::promote() { run(bin_ + "/pg_ctl -D " + folder_ + "/data -w promote"); }

store::postgres::Rows PrivatePostgres::query(const std::string& sql) const { return query_postgres(url(), sql); }

void PrivatePostgres::set(const std::string& name, const std::string& value) {
  query("alter system set " + name + " = '" + value + "'");
  query("select pg_reload_conf()");
  const std::string read = "select setting from pg_settings where name = '" + name + "'";
  for (int look = 0; look < 1000; ++look)
    if (query(read).text(0, 0) == value) return;
  throw std::runtime_error("the server did not take " + name);
}

void PrivatePostgres::become_replica() { run("touch " + folder_ + "/data/standby.signal"); }

}  // namespace semel::testing
