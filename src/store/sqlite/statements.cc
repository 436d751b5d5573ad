// The named statements of sql/*.sql: each starts at its line `-- :name NAME` and ends at the next one.
#include <array>
#include <stdexcept>

#include "store/sqlite/connection.h"
#include "store/sqlite/sql.gen.h"

namespace semel::store::sqlite {
namespace {

constexpr std::string_view kMark = "-- :name ";

void split(std::string_view text, std::unordered_map<std::string_view, std::string_view>& out) {
  std::size_t at = text.find(kMark);
  while (at != std::string_view::npos) {
    const std::size_t line_end = text.find('\n', at);
    const std::string_view name = text.substr(at + kMark.size(), line_end - at - kMark.size());
    const std::size_t next = text.find(kMark, line_end);
    const bool fresh =
        out.emplace(name, text.substr(line_end, next == std::string_view::npos ? next : next - line_end)).second;
    if (!fresh) throw std::logic_error("two statements named " + std::string(name));
    at = next;
  }
}

using Statements = std::unordered_map<std::string_view, std::string_view>;

Statements split_all() {
  Statements out;
  for (const std::string_view text : {sql::clock, sql::execution, sql::grp, sql::identity, sql::lane, sql::ledger,
                                      sql::payload, sql::run, sql::session, sql::verify, sql::waiting}) {
    split(text, out);
  }
  return out;
}

}  // namespace

const Statements& all_statements() {
  static const auto& statements = *new Statements(split_all());
  return statements;
}

std::string_view statement_text(std::string_view name) {
  const auto it = all_statements().find(name);
  if (it == all_statements().end()) throw std::logic_error("no statement named " + std::string(name));
  return it->second;
}

}  // namespace semel::store::sqlite
