#include "testing/temp_sqlite.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <vector>

namespace semel::testing {
namespace {

namespace fs = std::filesystem;

class Folders {
 public:
  ~Folders() {
    // A child that forked without exec shares the list but not the folders.
    if (getpid() != owner_) return;
    std::error_code ignored;
    for (const std::string& folder : made_) fs::remove_all(folder, ignored);
  }

  std::string make(const std::string& where) {
    std::string folder = where + "/semel-test-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) {
      std::perror(folder.c_str());
      std::abort();
    }
    std::lock_guard lock(mutex_);
    made_.push_back(folder);
    return folder;
  }

 private:
  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::vector<std::string> made_;
};

Folders& folders() {
  static Folders folders;
  return folders;
}

}  // namespace

std::string temp_folder() {
  return folders().make(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path().string());
}

std::string temp_folder_on_disk() { return folders().make(fs::temp_directory_path().string()); }

store::sqlite::SqliteOptions temp_sqlite_options(base::Clock* clock) {
  store::sqlite::SqliteOptions options;
  options.path = temp_folder() + "/semel.db";
  options.clock = clock;
  options.ballast_bytes = 0;
  options.batch_marks = true;  // suites repeat batches as if their commit were unknown
  return options;
}

std::unique_ptr<store::Store> make_temp_sqlite_store(base::Clock* clock) {
  auto opened = store::sqlite::open_sqlite(temp_sqlite_options(clock));
  if (!opened) {
    std::fprintf(stderr, "%s\n", opened.error().message.c_str());
    std::abort();
  }
  return std::move(*opened);
}

}  // namespace semel::testing
