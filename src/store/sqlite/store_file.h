// A store file in use. One writing process per file, under whatever name: the kernel's lock on the file itself, which
// ends with the process. The text in PATH-owner only says who holds it.
#pragma once

#include <string>

#include "semel/result.h"
#include "semel/time.h"
#include "store/sqlite/open_files.h"

namespace semel::store::sqlite {

// Outlives every connection to the file.
class StoreFile {
 public:
  // For reading. Unsupported: it was open when this process was forked.
  static Result<StoreFile> read(const std::string& path);
  // For writing; creates the file. Waits up to `wait`, then StoreBusy naming the owner. Unsupported: the file has
  // several names, it cannot be locked, or it was open when this process was forked.
  static Result<StoreFile> own(const std::string& path, const std::string& reach, Duration wait);

  StoreFile(StoreFile&& other) noexcept;
  StoreFile& operator=(StoreFile&&) = delete;
  // Marks the file as cleanly closed and lets the next owner in.
  ~StoreFile();

  // Unsupported: it has several names. Under another one SQLite looks for another -wal file, and does not see what was
  // acknowledged under this one.
  Result<void> check_names() const;

  // Absolute and without symbolic links: SQLite names its other files after it.
  const std::string& path() const { return path_; }
  // The owner before this one did not close the store: it was killed or lost power.
  bool follows_crash() const { return follows_crash_; }
  // False: the path leads to another file or to none, so what is written can no longer be found. One system call.
  bool is_in_place() const;

 private:
  StoreFile(std::string path, FileId id, bool owned) : path_(std::move(path)), id_(id), owned_(owned) {}

  std::string path_;
  FileId id_;
  bool owned_;
  bool held_ = true;  // false once moved from
  bool follows_crash_ = false;
  std::string note_;  // what this owner wrote into PATH-owner
};

}  // namespace semel::store::sqlite
