// What a server and its database must be before the store trusts them, and the schema's migrations. Forward only.
#pragma once

#include <cstdint>

#include "semel/result.h"
#include "store/postgres/connection.h"

namespace semel::store::postgres {

// The newest schema this binary knows; also the number a binary is known by in meta.min_binary.
int known_schema();

// Refuses a replica (StoreReadOnly), a server that may lose acknowledged work (InvalidConfig unless options.unsafe), a
// database that is not UTF8 (InvalidConfig), and a schema that does not fit (SchemaTooOld, SchemaTooNew).
Result<void> check_server(Connection& connection, const PgOptions& options);
Result<void> check_schema(Connection& connection);
// SchemaTooNew when another process has migrated: `meta` is what statements::schema_demand answered.
Result<void> check_demand(const Rows& meta);

// Runs the missing migrations in one transaction under a lock: a crash leaves all of them or none, and of two processes
// the second finds nothing to do.
Result<void> migrate(Connection& connection);

}  // namespace semel::store::postgres
