// Turns what goes wrong below a batch into the one exception the batch understands.
#pragma once

#include <exception>

#include "store/postgres/tables.h"

namespace semel::store::postgres {

template <class Work>
auto PostgresTables::guarded(Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const PgError& error) {
    look_back(error);
    throw to_tables_error(error, commit_at_);
  } catch (const std::exception& error) {  // a row that cannot be read
    throw batch::TablesError{Applied::Kind::halve,
                             make_error(ErrorCode::Internal, std::string("store: ") + error.what())};
  }
}

}  // namespace semel::store::postgres
