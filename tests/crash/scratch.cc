#include "tests/crash/scratch.h"

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

// The server's URL with another database: postgres://user@host/NAME?options.
std::string with_database(const std::string& url, const std::string& name) {
  const auto authority = url.find("://");
  if (authority == std::string::npos) return url + " dbname=" + name;
  const auto options = url.find('?', authority);
  const std::string base = url.substr(0, options);
  const auto slash = base.find('/', authority + 3);
  return base.substr(0, slash) + "/" + name + (options == std::string::npos ? "" : url.substr(options));
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "semel-crash-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp");
  folder_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

ScratchDatabase::ScratchDatabase() {
  const char* server = std::getenv("SEMEL_TEST_PG");
  if (server == nullptr) throw std::runtime_error("SEMEL_TEST_PG must name a PostgreSQL server; ./dev test starts one");
  static int count = 0;
  server_ = server;
  name_ = "semel_crash_" + std::to_string(::getpid()) + "_" + std::to_string(++count);
  open_sql(server_)->run("CREATE DATABASE " + name_);
  url_ = with_database(server_, name_);
}

ScratchDatabase::~ScratchDatabase() {
  try {
    open_sql(server_)->run("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception&) {
  }
}

long scaled(long count) { return std::getenv("SEMEL_LONG") ? count * 10 : count; }

}  // namespace semel::crash
