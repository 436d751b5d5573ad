// Whole copies through SQLite's online backup API, the only safe way to copy a live file.
#pragma once

#include <string>

#include "semel/result.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

// Copies the database behind `from` into the file `to`: written beside it, synced, then renamed into place.
Result<void> backup_connection(Connection& from, const std::string& to);

}  // namespace semel::store::sqlite
