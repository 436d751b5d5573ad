// The suites over the backends that need no service.
#include "store/conformance/duplicates_suite.h"
#include "store/memory/memory_store.h"
#include "testing/temp_sqlite.h"

namespace semel::store::conformance {
namespace {

std::vector<Backend> backends() {
  return {{"memory", [](base::Clock& clock) { return std::make_unique<memory::MemoryStore>(clock); }},
          {"sqlite", [](base::Clock& clock) { return testing::make_temp_sqlite_store(&clock); }}};
}

}  // namespace

#define SEMEL_SUITE(suite) INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::ValuesIn(backends()), backend_name)
SEMEL_SUITE(Duplicates);

}  // namespace semel::store::conformance
