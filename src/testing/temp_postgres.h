// Databases of their own for tests, on the server that SEMEL_TEST_PG names.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "store/port.h"
#include "store/postgres/connection.h"
#include "store/postgres/options.h"

namespace semel::testing {

// The URL in SEMEL_TEST_PG. Throws with an explanation when it is not set.
std::string test_postgres_url();

// Runs one statement on a connection of its own. Throws when it fails.
store::postgres::Rows query_postgres(const std::string& url, const std::string& sql);

// An empty database with the schema in it. Handed back to a pool of this process when it ends, dropped at exit.
class TempPostgres {
 public:
  TempPostgres();
  ~TempPostgres();
  TempPostgres(const TempPostgres&) = delete;
  TempPostgres& operator=(const TempPostgres&) = delete;

  const std::string& url() const { return url_; }
  const std::string& database() const { return database_; }
  store::postgres::PgOptions options() const;
  // Opens a store on it. Throws when that fails.
  std::unique_ptr<store::Store> open(base::Clock* clock = nullptr) const;
  // A connection for looking behind the store's back.
  std::unique_ptr<store::postgres::Connection> connect() const;
  // Runs one statement on a connection of its own.
  store::postgres::Rows query(const std::string& sql) const;

 private:
  std::string database_;
  std::string url_;
};

// A store that owns its database. With `clock`, that is the store's time (must outlive it).
std::unique_ptr<store::Store> make_temp_postgres_store(base::Clock* clock = nullptr);

}  // namespace semel::testing
