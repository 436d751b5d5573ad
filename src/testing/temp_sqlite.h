// SQLite stores for tests, in folders that vanish when the process ends.
#pragma once

#include <memory>
#include <string>

#include "store/port.h"
#include "store/sqlite/sqlite_store.h"

namespace semel::testing {

// A new empty folder, in memory where the system offers that. Removed at the end of the process.
std::string temp_folder();
// The same on a real disk.
std::string temp_folder_on_disk();

// Options for a fresh path: small, without ballast.
store::sqlite::SqliteOptions temp_sqlite_options(base::Clock* clock = nullptr);

// A new empty store. Aborts when it cannot be made.
std::unique_ptr<store::Store> make_temp_sqlite_store(base::Clock* clock = nullptr);

}  // namespace semel::testing
