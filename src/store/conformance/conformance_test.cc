// The suites over the backends that need no service.
#include "store/conformance/suites.h"
#include "store/memory/memory_store.h"
#include "testing/temp_sqlite.h"

namespace semel::store::conformance {
namespace {

std::unique_ptr<Store> sqlite_store(base::Clock& clock) {
  sqlite::SqliteOptions options = testing::temp_sqlite_options(&clock);
  options.batch_marks = true;  // so that a batch can be asked for again
  auto opened = sqlite::open_sqlite(options);
  return opened.ok() ? std::move(opened).value() : nullptr;
}

std::vector<Backend> backends() {
  return {{"memory", [](base::Clock& clock) { return std::make_unique<memory::MemoryStore>(clock); }},
          {"sqlite", sqlite_store}};
}

}  // namespace

SEMEL_CONFORMANCE(backends());

}  // namespace semel::store::conformance
