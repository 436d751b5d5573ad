// A place that goes away with the test, and the size of random tests.
#pragma once

#include <filesystem>
#include <string>

namespace semel::crash {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  // The URL of a new SQLite store in the folder.
  std::string store() const { return "sqlite:" + path("semel.db"); }

 private:
  std::filesystem::path folder_;
};

// A new database on the server of SEMEL_TEST_PG. Throws without the variable.
class ScratchDatabase {
 public:
  ScratchDatabase();
  ~ScratchDatabase();
  const std::string& store() const { return url_; }

 private:
  std::string server_;
  std::string name_;
  std::string url_;
};

// `count` for a test run, ten times as much when SEMEL_LONG is set.
long scaled(long count);

}  // namespace semel::crash
