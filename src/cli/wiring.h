// From a store URL to a store: the one place of the command line that names backends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "semel/result.h"
#include "semel/time.h"
#include "store/port.h"

namespace semel::base {
class LogSink;
}

namespace semel::cli {

enum class Backend : std::uint8_t { sqlite, postgres };

struct StoreUrl {
  Backend backend = Backend::sqlite;
  std::string target;  // the file of SQLite, the whole URL of PostgreSQL
};
// InvalidArgument naming the forms that are understood.
Result<StoreUrl> parse_store_url(const std::string& url);

struct OpenOptions {
  bool read_only = false;
  bool migrate = false;  // PostgreSQL; SQLite migrates itself when it is opened for writing
  bool unsafe = false;
  std::string reach;             // told to a second writer of a SQLite file
  base::LogSink* log = nullptr;  // must outlive the store
};
Result<std::unique_ptr<store::Store>> open_store(const std::string& url, const OpenOptions& options);

// SQLite only: Unsupported with the command of PostgreSQL's own tools otherwise.
Result<void> backup_store(const std::string& url, const std::string& to);
struct RestoredStore {
  std::optional<std::string> kept;  // where the store that was there lies now
  std::optional<Instant> as_of;     // the backup knows nothing later
  std::int64_t generation = 0;
};
Result<RestoredStore> restore_store(const std::string& from, const std::string& url);

// How far the machine's clock was set while the store was closed, within the last day; a sentence for people. None: it
// was not, or the store has a clock of its own.
std::optional<std::string> recent_clock_step(const StoreUrl& url);

struct LibraryVersions {
  std::string sqlite;
  bool sqlite_is_old = false;  // before 3.51.3: two checkpointing connections could damage a file
};
LibraryVersions library_versions();

}  // namespace semel::cli
