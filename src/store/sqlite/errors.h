// What a failure of the SQLite library means for a batch and for a reader.
#pragma once

#include <string>

#include "semel/error.h"
#include "store/batch/tables.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

// The error table's name for it; `path` is named in the message.
Error to_error(const SqliteFailure& failure, const std::string& path);

// What became of the batch in which it happened. SQLite has no unknown commit: a COMMIT that failed was rolled back,
// and one that met an I/O error is fatal, after which only reopening tells what is on disk.
batch::TablesError to_tables_error(const SqliteFailure& failure, const std::string& path);

bool is_full(const SqliteFailure& failure);
bool is_corrupt(const SqliteFailure& failure);

}  // namespace semel::store::sqlite
