#include "store/postgres/statements.h"

#include <array>

#include "store/postgres/sql.gen.h"

namespace semel::store::postgres {

namespace statements {
#define SEMEL_PG_DEFINE(name) const Statement name{#name, sql::name};
SEMEL_PG_WRITER_STATEMENTS(SEMEL_PG_DEFINE)
SEMEL_PG_READER_STATEMENTS(SEMEL_PG_DEFINE)
#undef SEMEL_PG_DEFINE
}  // namespace statements

#define SEMEL_PG_LIST(name) Statement{#name, sql::name},

std::span<const Statement> writer_statements() {
  static constexpr auto list = std::to_array<Statement>({SEMEL_PG_WRITER_STATEMENTS(SEMEL_PG_LIST)});
  return list;
}

std::span<const Statement> reader_statements() {
  static constexpr auto list = std::to_array<Statement>({SEMEL_PG_READER_STATEMENTS(SEMEL_PG_LIST)});
  return list;
}

#undef SEMEL_PG_LIST

}  // namespace semel::store::postgres
