#include "tests/crash/damage.h"

#include "tests/crash/open_store.h"
#include "tests/crash/sql.h"
#include "tests/crash/together.h"

namespace semel::crash {

std::vector<std::string> verify_after(const std::string& url, const Damage& damage) {
  {
    const auto runtime = open_runtime(url, 1000);
    enqueue_together(*runtime, "id", 1, 2, [](const std::string&) {});
    claim_one(*runtime, "worker", std::chrono::seconds(60));
    auto sound = runtime->store().verify().value();
    if (!sound.empty()) return {"before the damage: " + sound.front()};
  }
  const auto sql = open_sql(url);
  std::string statement = damage.statement;
  const std::string mark = "TABLE.";
  statement.replace(statement.find(mark), mark.size(), sql->is_sqlite() ? "" : "semel.");
  sql->run(statement);
  return open_store(url, false).value()->verify().value();
}

}  // namespace semel::crash
