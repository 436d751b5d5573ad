// The suites over PostgreSQL.
#include "store/conformance/suites.h"
#include "testing/temp_postgres.h"

namespace semel::store::conformance {
namespace {

std::vector<Backend> backends() {
  return {{"postgres", [](base::Clock& clock) { return testing::make_temp_postgres_store(&clock); }}};
}

}  // namespace

SEMEL_CONFORMANCE(backends());

}  // namespace semel::store::conformance
