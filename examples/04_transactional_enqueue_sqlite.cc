// Your row and the task that works on it: both, or neither.
#include <semel/semel.h>
#include <sqlite3.h>

#include <iostream>

namespace {

semel::Result<void> run(sqlite3* db, const char* sql) {
  char* message = nullptr;
  if (sqlite3_exec(db, sql, nullptr, nullptr, &message) == SQLITE_OK) return {};
  const std::string text = message != nullptr ? message : "error";
  sqlite3_free(message);
  return semel::make_error(semel::ErrorCode::InvalidArgument, text);
}

}  // namespace

int main() {
  const auto mail = semel::task("mail", [](const std::string& address) { return "mailed " + address; });
  auto engine = semel::Engine::open("sqlite:app.db").value();
  auto worker = engine.start_worker(semel::WorkerOptions().add(mail)).value();

  // Your tables live in the store's file; prefix them.
  const auto create = [](sqlite3* db) {
    if (auto made = run(db, "create table app_user (address text primary key)"); !made) return made;
    return run(db, "insert into app_user values ('ada@example.org')");
  };
  const auto welcome = engine.enqueue_within(create, mail, "ada@example.org").value();
  std::cout << welcome.result().value() << "\n";

  // The second insert breaks the primary key: no row, and no mail either.
  const auto twice =
      engine.enqueue_within([](sqlite3* db) { return run(db, "insert into app_user values ('ada@example.org')"); },
                            mail, "ada@example.org", semel::EnqueueOptions().task_id("welcome-again"));
  std::cout << twice.error().message << "\n";
  std::cout << semel::error_info(engine.get_task("welcome-again").error().code).name << "\n";
  engine.shutdown();
}

// Output:
// mailed ada@example.org
// UNIQUE constraint failed: app_user.address
// ExecutionNotFound
