// The SQLite store: one file, one writing owner, any number of readers.
//
// WAL with synchronous=FULL: once apply() answered `committed`, the batch survives a power cut. The owner holds a lock
// on the file itself, whatever name led to it; a second writer waits, then is refused and told who owns it. Readers
// never block the writer and the writer never blocks them. Nothing is acknowledged once the path no longer leads to the
// file that was opened: the store stops for good.
//
// Files: PATH, PATH-wal and PATH-shm (SQLite's own: copying PATH alone while it is open loses commits, use
// sqlite_backup), PATH-owner (who writes, for people), PATH-ballast (space given up by whoever finds the disk full, so
// that reading and retention go on).
//
// A program that opens the file with connections of its own, beside ours, closes them before it closes the store:
// closing a descriptor ends the locks of them all.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "semel/result.h"
#include "semel/time.h"
#include "store/port.h"

namespace semel::base {
class LogSink;
}  // namespace semel::base

namespace semel::store::sqlite {

struct SqliteOptions {
  std::string path;
  bool read_only = false;  // no owner lock, apply() is refused
  std::string reach;       // how to reach this process ("http 127.0.0.1:7300"); told to a refused writer
  Duration owner_wait = std::chrono::seconds(5);
  Duration read_limit = std::chrono::seconds(5);    // a reader held open would keep the WAL from shrinking
  std::int32_t readers = 4;                         // read-only connections kept open; opened as needed
  std::int32_t cache_kib = 16 * 1024;               // page cache of the writer; readers take an eighth each
  std::int32_t checkpoint_frames = 4000;            // 4 KiB each
  std::int64_t wal_step_bytes = 1024 * 1024;        // the WAL file is made this much longer ahead of need; 0: never
  std::int64_t wal_limit_bytes = 64 * 1024 * 1024;  // above: alarm, and the WAL file is cut back
  std::int64_t ballast_bytes = 4 * 1024 * 1024;     // 0: no ballast
  bool batch_marks = false;                         // see SqliteTables
  std::string vfs;                                  // a registered SQLite VFS; empty: the system's
  base::LogSink* log = nullptr;                     // must outlive the store
  base::Clock* clock = nullptr;        // none: wall time at open, carried on monotonically; must outlive the store
  std::optional<base::BootTime> boot;  // at open; none: the machine's, or with `clock` unknown
};

// Opens or creates the file, brings its schema up to date (after a backup copy beside it) and takes the owner lock.
//
// The store's clock starts at wall time. Where that was set meanwhile, leases and due times are moved along: within one
// boot they are judged by the time that passed; after another boot they are due at most their own length from now.
//
// StoreNotFound: the folder does not exist, or read_only and no file or an empty one. StoreReadOnly: not writable.
// StoreBusy: another process owns it, or this one by another store. Unsupported: a network disk, a file with several
// names, or one that was open when this process was forked. SchemaTooNew / SchemaTooOld: made by a newer binary /
// read_only and not migrated. StoreCorrupt: damaged, or not a Semel store.
Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& options);

// Copies a store, live or not, into a new file; the copy is complete and synced, or absent.
Result<void> sqlite_backup(const std::string& from, const std::string& to);

struct Restored {
  std::optional<std::string> kept;  // where the store that was there lies now, with all that was acknowledged
  std::optional<Instant> as_of;     // the backup knows nothing later; what happened since may happen again
  std::int64_t generation = 0;      // grows with every restore
};
// Replaces the store at `to` by the backup `from`, at one instant, and keeps the old one under a name of its own. Needs
// to own `to`; the backup is checked before anything is replaced.
Result<Restored> sqlite_restore(const std::string& from, const std::string& to);

// The last time that the machine's clock was found to have been set while the store was closed.
struct ClockStep {
  Instant noticed_at{};
  Duration by{0};  // negative: set back
};
Result<std::optional<ClockStep>> sqlite_clock_step(const std::string& path);

}  // namespace semel::store::sqlite
