// A disk that loses power. A SQLite VFS over real files that remembers which writes were not synced yet.
//
// Model: a write, a truncation or a removal is certain only after a sync of its file (a removal: of its folder). At a
// cut, any subset of what is uncertain may be on the disk, in pieces of one sector; bytes outside a written range are
// never harmed (SQLite relies on that: powersafe overwrite). The same disk can refuse calls instead: full, or broken.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"

struct sqlite3_vfs;

namespace semel::testing {

enum class DiskCall : std::uint8_t { write, sync, truncate, remove };
inline constexpr int kDiskCalls = 4;
const char* to_string(DiskCall call);

// Which call a cut or a fault waits for.
struct CallFilter {
  std::optional<DiskCall> call;  // none: any
  bool in_checkpoint_only = false;
  int nth = 1;  // counted from now
};

class PowerCutDisk {
 public:
  // Registers itself as a VFS under name().
  PowerCutDisk();
  ~PowerCutDisk();
  PowerCutDisk(const PowerCutDisk&) = delete;
  PowerCutDisk& operator=(const PowerCutDisk&) = delete;
  const std::string& name() const { return name_; }

  // Files there now are on the disk for certain, opened or not.
  void adopt(const std::string& folder);

  // The power goes at that call: it may or may not have happened, every later one fails.
  void cut_at(CallFilter filter, base::Random& random);
  bool is_cut() const { return cut_; }
  struct Cut {
    DiskCall call{};
    bool in_checkpoint = false;
    std::string file;  // "db", "wal" or "journal"
  };
  const Cut& where() const { return where_; }

  // That call, and from then on every call of its kind when `lasting`, fails with `code` without any effect.
  void fail_at(CallFilter filter, int code, bool lasting);
  void heal();
  int failures() const { return failures_; }

  // Syncs of the WAL outside checkpoints do nothing: what synchronous=NORMAL does to a disk.
  void lie_about_wal_syncs() { lying_ = true; }
  // Calls between the two belong to a checkpoint.
  void enter_checkpoint(bool inside) { in_checkpoint_ = inside; }

  // What a disk could hold after the cut, written as files into `folder`.
  void leave_files(const std::string& folder, base::Random& random);

  std::int64_t calls(DiskCall call) const { return calls_[static_cast<std::size_t>(call)]; }

  // ---- for the VFS functions ----
  struct Change {
    bool truncation = false;
    std::int64_t offset = 0;  // or the new size
    std::string data;
  };
  struct File {
    std::string path;
    bool certain = false;  // the name itself survives a cut
    bool removed = false;  // removed, not yet certainly
    std::string synced;    // bytes that survive any cut
    std::vector<Change> uncertain;
  };
  enum class Verdict : std::uint8_t { go, go_then_dead, dead, refuse };
  Verdict judge(DiskCall call, const File& file, int& code);
  std::shared_ptr<File> file(const std::string& path, bool create);
  void on_sync(File& file, bool with_folder);
  void on_remove(const std::string& path, bool certain);
  bool honours_sync(const File& file) const;
  sqlite3_vfs* real() { return real_; }
  std::mutex& mutex() { return mutex_; }

 private:
  bool matches(const CallFilter& filter, DiskCall call) const;

  std::string name_;
  sqlite3_vfs* real_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::array<std::int64_t, kDiskCalls> calls_{};
  bool in_checkpoint_ = false;
  bool lying_ = false;

  std::optional<CallFilter> cut_filter_;
  base::Random* cut_random_ = nullptr;
  bool cut_ = false;
  Cut where_;

  std::optional<CallFilter> fault_filter_;
  int fault_code_ = 0;
  bool fault_lasting_ = false;
  bool fault_active_ = false;
  std::optional<DiskCall> fault_call_;
  int failures_ = 0;
};

}  // namespace semel::testing
