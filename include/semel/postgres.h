// The PostgreSQL store and enqueueing inside your own transaction (component semel::postgres, links libpq).
//
//   auto engine = semel::Engine::open("postgres://app@db/app", semel::Options().backend(semel::postgres::backend()));
#pragma once

#include <cstdint>
#include <type_traits>

#include "semel/engine.h"
#include "semel/options.h"
#include "semel/result.h"
#include "semel/task.h"

// libpq's own declaration, repeated so that this header needs nothing of it.
typedef struct pg_conn PGconn;

namespace semel::postgres {

class BackendOptions {
 public:
  SEMEL_OPTION(BackendOptions, bool, migrate)  // bring the schema up to date when opening; default false
  SEMEL_OPTION(BackendOptions, bool, unsafe)   // accept a server that does not flush (fsync=off); default false
};

// Makes `postgres://` and `postgresql://` URLs known to Engine::open. Any number of processes may share one database.
BackendRef backend(const BackendOptions& options = {});

// Writes the request into the inbox, on the caller's connection and in the caller's transaction: the task exists if and
// only if that transaction commits. Any engine on this database enqueues it within a fraction of a second after the
// commit, through the ordinary path: duplicates are answered as always. There is no handle yet; look the task up by its
// task_id. Answers the number of the inbox row.
//
// Options are checked here; a request that is refused later (TaskAlreadyExists, FingerprintMismatch) stays in the inbox
// with its error. Not for Bytes and groups; without a tenant option the tenant is "default".
Result<std::int64_t> enqueue_raw(PGconn* connection, const Item& item);

template <class R, class A>
Result<std::int64_t> enqueue(PGconn* connection, const TaskRef<R, A>& task, const std::type_identity_t<A>& argument,
                             const EnqueueOptions& options = {}) {
  return enqueue_raw(connection, Item(task, argument, options));
}

}  // namespace semel::postgres
