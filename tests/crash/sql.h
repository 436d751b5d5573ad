// The database itself, asked by SQL and not through our store: what the checks of this folder believe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace semel::crash {

class Sql {
 public:
  using Row = std::vector<std::string>;  // null is the empty string

  virtual ~Sql() = default;
  // Throws when the database refuses. Nothing stays open between two queries.
  virtual std::vector<Row> query(const std::string& text) = 0;
  virtual void run(const std::string& text) = 0;
  virtual bool is_sqlite() const = 0;

  long number(const std::string& text) { return std::stol(query(text).at(0).at(0)); }
};

// `sqlite:PATH` or a libpq URL.
std::unique_ptr<Sql> open_sql(const std::string& url);

// One execution as SQL sees it; `bytes` is the whole row as text.
struct SqlExecution {
  std::string id;  // hex digits
  int status = 0;
  std::string result;
  std::string bytes;
};
std::vector<SqlExecution> executions(Sql& sql, const std::string& where = "true");
// (task_id, execution id in hex) of every identity row of tasks.
std::vector<std::pair<std::string, std::string>> identities(Sql& sql);
std::string hex_of(const std::string& uuid);

// Installs a trigger that writes down every change of a terminal row (a second terminal transition is one) and every
// claimed row that went back to queued.
void watch(Sql& sql);
long changes_of_terminal_rows(Sql& sql);
long returns_to_queued(Sql& sql);

}  // namespace semel::crash
