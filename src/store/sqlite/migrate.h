// The schema of a file: recognised, created, brought up to date. Forward only.
//
// Each migration is one transaction that also writes meta.schema_version: a crash leaves the step done or not begun,
// and the next open goes on from there.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "semel/result.h"
#include "store/sqlite/connection.h"

namespace semel::store::sqlite {

struct SchemaStep {
  int number;
  std::string_view name;
  std::string_view text;
};

// The steps embedded in this binary.
std::span<const SchemaStep> schema_steps();

// What a file says about itself.
struct SchemaState {
  bool empty = false;  // no tables at all: a new file
  int version = 0;
  int min_binary = 0;  // a binary runs iff it knows at least this many steps
};
// StoreCorrupt: a SQLite database that is not ours.
Result<SchemaState> read_schema(Connection& db, const std::string& path);

// SchemaTooNew when a binary with `known` steps must not touch the file.
Result<void> check_schema(const SchemaState& state, int known, const std::string& path);

// Brings the file up to the last of `steps`. A file that had tables is copied to PATH.before-N first.
Result<void> migrate(Connection& db, const std::string& path, std::span<const SchemaStep> steps);

}  // namespace semel::store::sqlite
