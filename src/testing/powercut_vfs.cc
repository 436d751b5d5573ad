#include "testing/powercut_vfs.h"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <utility>

namespace semel::testing {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kSector = 512;

// What SQLite holds for an open file: its own header, our state, then the real file.
struct Handle {
  sqlite3_file base;
  PowerCutDisk* disk;
  std::shared_ptr<PowerCutDisk::File>* file;  // null: a temporary file, which no cut concerns
  bool syncs_folder;                          // SQLite syncs the folder with the first sync of such a handle
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};
Handle* handle(sqlite3_file* file) { return reinterpret_cast<Handle*>(file); }
const sqlite3_io_methods* real_methods(sqlite3_file* file) { return handle(file)->real()->pMethods; }

using Verdict = PowerCutDisk::Verdict;

int close_file(sqlite3_file* file) {
  Handle* h = handle(file);
  const int code = real_methods(file)->xClose(h->real());
  delete h->file;
  h->file = nullptr;
  return code;
}

int read_file(sqlite3_file* file, void* to, int size, sqlite3_int64 offset) {
  if (handle(file)->disk->is_cut()) return SQLITE_IOERR_READ;
  return real_methods(file)->xRead(handle(file)->real(), to, size, offset);
}

int write_file(sqlite3_file* file, const void* from, int size, sqlite3_int64 offset) {
  Handle* h = handle(file);
  if (h->file != nullptr) {
    std::lock_guard lock(h->disk->mutex());
    int code = SQLITE_OK;
    const Verdict verdict = h->disk->judge(DiskCall::write, **h->file, code);
    if (verdict == Verdict::dead) return SQLITE_IOERR_WRITE;
    if (verdict == Verdict::refuse) return code;
    (*h->file)->uncertain.push_back(
        {false, offset, std::string(static_cast<const char*>(from), static_cast<std::size_t>(size))});
    if (verdict == Verdict::go_then_dead) return SQLITE_IOERR_WRITE;
  }
  return real_methods(file)->xWrite(h->real(), from, size, offset);
}

int truncate_file(sqlite3_file* file, sqlite3_int64 size) {
  Handle* h = handle(file);
  if (h->file != nullptr) {
    std::lock_guard lock(h->disk->mutex());
    int code = SQLITE_OK;
    const Verdict verdict = h->disk->judge(DiskCall::truncate, **h->file, code);
    if (verdict == Verdict::dead) return SQLITE_IOERR_TRUNCATE;
    if (verdict == Verdict::refuse) return code;
    (*h->file)->uncertain.push_back({true, size, {}});
    if (verdict == Verdict::go_then_dead) return SQLITE_IOERR_TRUNCATE;
  }
  return real_methods(file)->xTruncate(h->real(), size);
}

int sync_file(sqlite3_file* file, int flags) {
  Handle* h = handle(file);
  if (h->file != nullptr) {
    std::lock_guard lock(h->disk->mutex());
    int code = SQLITE_OK;
    const Verdict verdict = h->disk->judge(DiskCall::sync, **h->file, code);
    if (verdict == Verdict::dead) return SQLITE_IOERR_FSYNC;
    if (verdict == Verdict::refuse) return code;
    if (h->disk->honours_sync(**h->file)) h->disk->on_sync(**h->file, std::exchange(h->syncs_folder, false));
    if (verdict == Verdict::go_then_dead) return SQLITE_IOERR_FSYNC;
  }
  return real_methods(file)->xSync(h->real(), flags);
}

int file_size(sqlite3_file* f, sqlite3_int64* size) { return real_methods(f)->xFileSize(handle(f)->real(), size); }
int lock_file(sqlite3_file* f, int level) { return real_methods(f)->xLock(handle(f)->real(), level); }
int unlock_file(sqlite3_file* f, int level) { return real_methods(f)->xUnlock(handle(f)->real(), level); }
int check_reserved(sqlite3_file* f, int* out) { return real_methods(f)->xCheckReservedLock(handle(f)->real(), out); }
int sector_size(sqlite3_file* f) { return real_methods(f)->xSectorSize(handle(f)->real()); }
int characteristics(sqlite3_file* f) { return real_methods(f)->xDeviceCharacteristics(handle(f)->real()); }
int shm_map(sqlite3_file* f, int page, int size, int extend, void volatile** out) {
  return real_methods(f)->xShmMap(handle(f)->real(), page, size, extend, out);
}
int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
  return real_methods(f)->xShmLock(handle(f)->real(), offset, n, flags);
}
void shm_barrier(sqlite3_file* f) { real_methods(f)->xShmBarrier(handle(f)->real()); }
int shm_unmap(sqlite3_file* f, int remove) { return real_methods(f)->xShmUnmap(handle(f)->real(), remove); }
int file_control(sqlite3_file* f, int op, void* arg) {
  // Growing a file in chunks or by mmap would pass us by.
  if (op == SQLITE_FCNTL_CHUNK_SIZE || op == SQLITE_FCNTL_SIZE_HINT || op == SQLITE_FCNTL_MMAP_SIZE) return SQLITE_OK;
  return real_methods(f)->xFileControl(handle(f)->real(), op, arg);
}

const sqlite3_io_methods kMethods = {
    2,         close_file,  read_file,      write_file,   truncate_file, sync_file,       file_size,
    lock_file, unlock_file, check_reserved, file_control, sector_size,   characteristics, shm_map,
    shm_lock,  shm_barrier, shm_unmap,      nullptr,      nullptr};

PowerCutDisk* disk_of(sqlite3_vfs* vfs) { return static_cast<PowerCutDisk*>(vfs->pAppData); }

int open_file(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out_flags) {
  PowerCutDisk* disk = disk_of(vfs);
  Handle* h = new (file) Handle{};
  h->disk = disk;
  if (disk->is_cut()) return SQLITE_IOERR;
  const int code = disk->real()->xOpen(disk->real(), path, h->real(), flags, out_flags);
  if (code != SQLITE_OK) return code;
  h->base.pMethods = &kMethods;
  if (path != nullptr && (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0) {
    std::lock_guard lock(disk->mutex());
    h->file = new std::shared_ptr(disk->file(path, true));
    h->syncs_folder = (flags & SQLITE_OPEN_CREATE) != 0 && (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0;
  }
  return SQLITE_OK;
}

int delete_file(sqlite3_vfs* vfs, const char* path, int sync_folder) {
  PowerCutDisk* disk = disk_of(vfs);
  {
    std::lock_guard lock(disk->mutex());
    if (const auto file = disk->file(path, false)) {
      int code = SQLITE_OK;
      const Verdict verdict = disk->judge(DiskCall::remove, *file, code);
      if (verdict == Verdict::dead) return SQLITE_IOERR_DELETE;
      if (verdict == Verdict::refuse) return code;
      disk->on_remove(path, sync_folder != 0 && verdict == Verdict::go);
      if (verdict == Verdict::go_then_dead) return SQLITE_IOERR_DELETE;
    }
  }
  return disk->real()->xDelete(disk->real(), path, sync_folder);
}

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return {};
  std::string bytes(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

void put(std::string& bytes, std::int64_t offset, std::string_view data) {
  const auto end = static_cast<std::size_t>(offset) + data.size();
  if (bytes.size() < end) bytes.resize(end);
  std::memcpy(bytes.data() + offset, data.data(), data.size());
}

std::string kind_of(const std::string& path) {
  if (path.ends_with("-wal")) return "wal";
  return path.ends_with("-journal") ? "journal" : "db";
}

}  // namespace

const char* to_string(DiskCall call) {
  static constexpr const char* kNames[] = {"write", "sync", "truncate", "remove"};
  return kNames[static_cast<int>(call)];
}

PowerCutDisk::PowerCutDisk() : real_(sqlite3_vfs_find(nullptr)), vfs_(std::make_unique<sqlite3_vfs>(*real_)) {
  static std::atomic<int> made{0};
  name_ = "powercut-" + std::to_string(made++);
  vfs_->zName = name_.c_str();
  vfs_->szOsFile = static_cast<int>(sizeof(Handle)) + real_->szOsFile;
  vfs_->pNext = nullptr;
  vfs_->pAppData = this;
  vfs_->xOpen = open_file;
  vfs_->xDelete = delete_file;
  sqlite3_vfs_register(vfs_.get(), 0);
}

PowerCutDisk::~PowerCutDisk() { sqlite3_vfs_unregister(vfs_.get()); }

void PowerCutDisk::adopt(const std::string& folder) {
  std::lock_guard lock(mutex_);
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.ends_with(".db") || path.ends_with("-wal") || path.ends_with("-journal")) file(path, true);
  }
}

void PowerCutDisk::cut_at(CallFilter filter, base::Random& random) {
  std::lock_guard lock(mutex_);
  cut_filter_ = filter;
  cut_random_ = &random;
}

void PowerCutDisk::fail_at(CallFilter filter, int code, bool lasting) {
  std::lock_guard lock(mutex_);
  fault_filter_ = filter;
  fault_code_ = code;
  fault_lasting_ = lasting;
}

void PowerCutDisk::heal() {
  std::lock_guard lock(mutex_);
  fault_filter_.reset();
  fault_active_ = false;
}

bool PowerCutDisk::matches(const CallFilter& filter, DiskCall call) const {
  return (!filter.call || *filter.call == call) && (!filter.in_checkpoint_only || in_checkpoint_);
}

PowerCutDisk::Verdict PowerCutDisk::judge(DiskCall call, const File& file, int& code) {
  if (cut_) return Verdict::dead;
  ++calls_[static_cast<std::size_t>(call)];
  if (fault_active_ && fault_call_ == call) {
    code = fault_code_;
    ++failures_;
    return Verdict::refuse;
  }
  if (fault_filter_ && matches(*fault_filter_, call) && --fault_filter_->nth == 0) {
    fault_active_ = fault_lasting_;
    fault_call_ = call;
    fault_filter_.reset();
    code = fault_code_;
    ++failures_;
    return Verdict::refuse;
  }
  if (cut_filter_ && matches(*cut_filter_, call) && --cut_filter_->nth == 0) {
    cut_ = true;
    where_ = {call, in_checkpoint_, kind_of(file.path)};
    return cut_random_->below(2) == 0 ? Verdict::dead : Verdict::go_then_dead;
  }
  return Verdict::go;
}

std::shared_ptr<PowerCutDisk::File> PowerCutDisk::file(const std::string& path, bool create) {
  auto it = files_.find(path);
  if (it != files_.end() && (!create || !it->second->removed)) return it->second;
  if (!create) return nullptr;
  auto file = std::make_shared<File>();
  file->path = path;
  if (it == files_.end()) {
    // What was there before this disk was watched is certain.
    file->synced = slurp(path);
    file->certain = !file->synced.empty();
  } else {
    // A new file under the name of one whose removal is not certain: start from what may still be there.
    file->certain = it->second->certain;
  }
  files_[path] = file;
  return file;
}

bool PowerCutDisk::honours_sync(const File& file) const {
  return !lying_ || in_checkpoint_ || !file.path.ends_with("-wal");
}

void PowerCutDisk::on_sync(File& file, bool with_folder) {
  for (const Change& change : file.uncertain) {
    if (change.truncation) {
      file.synced.resize(static_cast<std::size_t>(change.offset));
    } else {
      put(file.synced, change.offset, change.data);
    }
  }
  file.uncertain.clear();
  // Every name in the folder is settled then, of new files and of removed ones.
  if (with_folder) {
    std::erase_if(files_, [](const auto& entry) { return entry.second->removed; });
    for (auto& [path, other] : files_) other->certain = true;
  }
}

void PowerCutDisk::on_remove(const std::string& path, bool certain) {
  auto it = files_.find(path);
  if (it == files_.end()) return;
  if (certain) {
    files_.erase(it);
  } else {
    it->second->removed = true;
  }
}

void PowerCutDisk::leave_files(const std::string& folder, base::Random& random) {
  std::lock_guard lock(mutex_);
  for (const auto& [path, file] : files_) {
    if (file->removed && random.below(2) == 0) continue;
    if (!file->certain && random.below(2) == 0) continue;
    // Sometimes everything reached the disk, sometimes nothing, mostly some of it.
    const std::uint64_t mood = random.below(4);
    const std::uint64_t keep_percent = mood == 0 ? 0 : mood == 1 ? 100 : 10 + random.below(81);
    std::string bytes = file->synced;
    for (const Change& change : file->uncertain) {
      if (change.truncation) {
        if (random.below(100) < keep_percent) bytes.resize(static_cast<std::size_t>(change.offset));
        continue;
      }
      const std::string_view data = change.data;
      for (std::size_t at = 0; at < data.size();) {
        const std::int64_t offset = change.offset + static_cast<std::int64_t>(at);
        const auto size = std::min<std::size_t>(data.size() - at, static_cast<std::size_t>(kSector - offset % kSector));
        if (random.below(100) < keep_percent) put(bytes, offset, data.substr(at, size));
        at += size;
      }
    }
    std::ofstream out(folder + "/" + fs::path(path).filename().string(), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
}

}  // namespace semel::testing
