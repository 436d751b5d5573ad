// The PostgreSQL store: shared by any number of processes; no leader.
//
// Once apply() answered `committed`, the batch is flushed to the server's disk (synchronous_commit is pinned; a
// synchronous standby has it too). Connections that break are reopened by the next call, with a growing pause. Works
// through a pooler in session mode; in transaction mode prepared statements and pinned settings would be lost, so give
// the store a direct URL there.
#pragma once

#include <memory>

#include "semel/result.h"
#include "store/port.h"
#include "store/postgres/options.h"

namespace semel::store::postgres {

// Connects and checks server and schema; with options.migrate brings the schema up to date first.
//
// InvalidArgument: the URL. StoreNotFound: no such database. StoreUnavailable: nobody answers. StoreReadOnly: a
// replica, or no right to write. InvalidConfig: fsync off, or a database that is not UTF8. SchemaTooOld, SchemaTooNew.
Result<std::unique_ptr<Store>> open_postgres(const PgOptions& options);

// Brings the schema up to date; durable once it returned. Safe to run from several places at once.
Result<void> migrate_postgres(const PgOptions& options);

}  // namespace semel::store::postgres
