#include "testing/temp_postgres.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "store/postgres/postgres_store.h"

namespace semel::testing {
namespace {

using store::postgres::Connection;
using store::postgres::PgError;
using store::postgres::PgOptions;
using store::postgres::Role;
using store::postgres::Rows;

// `url` with another database.
std::string with_database(const std::string& url, const std::string& database) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url + " dbname=" + database;
  const auto query = url.find('?', scheme + 3);
  const auto slash = url.find('/', scheme + 3);
  const std::string head = url.substr(0, std::min(slash, query));
  return head + "/" + database + (query == std::string::npos ? "" : url.substr(query));
}

std::unique_ptr<Connection> connect_to(const std::string& url) {
  PgOptions options;
  options.url = url;
  return Connection::open(options, Role{"semel test", std::chrono::seconds(10), false}).value();
}

Rows run(const std::string& url, const std::string& sql) {
  const auto connection = connect_to(url);
  try {
    connection->queue_text(sql);
    return std::move(connection->run()[0]);
  } catch (const PgError& error) {
    throw std::runtime_error(sql + ": " + error.message);
  }
}

// Databases of this process: made when needed, emptied between uses, dropped at exit.
class Pool {
 public:
  ~Pool() {
    for (const std::string& database : all_) {
      try {
        run(test_postgres_url(), "drop database if exists " + database + " with (force)");
      } catch (const std::exception&) {  // the server may be gone already
      }
    }
  }

  std::string take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::string out = std::move(free_.back());
        free_.pop_back();
        return out;
      }
    }
    const std::string database = "semel_test_" + std::to_string(getpid()) + "_" + std::to_string(next());
    run(test_postgres_url(), "create database " + database + " encoding 'UTF8' template template0");
    return database;
  }

  void give(std::string database) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(database));
  }

 private:
  std::size_t next() {
    const std::lock_guard lock(mutex_);
    all_.push_back("semel_test_" + std::to_string(getpid()) + "_" + std::to_string(all_.size()));
    return all_.size() - 1;
  }

  std::mutex mutex_;
  std::vector<std::string> all_, free_;
};

Pool& pool() {
  static Pool one;
  return one;
}

// Deleting the few rows of a test is far quicker than making tables anew.
constexpr const char* kEmpty = R"SQL(
do $$
declare t record;
begin
  for t in select c.oid::regclass as name from pg_catalog.pg_class c
           where c.relnamespace = 'semel'::regnamespace and c.relkind = 'r' and c.relname <> 'meta' loop
    execute format('delete from %s', t.name);
  end loop;
  insert into semel.tenant (id, name) values (1, 'default');
end $$)SQL";

}  // namespace

std::string test_postgres_url() {
  const char* url = std::getenv("SEMEL_TEST_PG");
  if (!url || !*url)
    throw std::runtime_error(
        "SEMEL_TEST_PG is not set: it names the PostgreSQL server of these tests; ./dev test starts one");
  return url;
}

Rows query_postgres(const std::string& url, const std::string& sql) { return run(url, sql); }

TempPostgres::TempPostgres() : database_(pool().take()), url_(with_database(test_postgres_url(), database_)) {
  store::postgres::migrate_postgres(options()).value();
  run(url_,
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> "
      "pg_backend_pid()");
  run(url_, kEmpty);
}

TempPostgres::~TempPostgres() { pool().give(database_); }

PgOptions TempPostgres::options() const {
  PgOptions options;
  options.url = url_;
  options.unsafe = true;  // tests may run on a server without fsync
  return options;
}

std::unique_ptr<store::Store> TempPostgres::open(base::Clock* clock) const {
  PgOptions with_clock = options();
  with_clock.clock = clock;
  return store::postgres::open_postgres(with_clock).value();
}

std::unique_ptr<store::Store> make_temp_postgres_store(base::Clock* clock) {
  auto database = std::make_shared<TempPostgres>();
  PgOptions options = database->options();
  options.clock = clock;
  options.keep = database;
  return store::postgres::open_postgres(options).value();
}

std::unique_ptr<Connection> TempPostgres::connect() const { return connect_to(url_); }

Rows TempPostgres::query(const std::string& sql) const { return run(url_, sql); }

}  // namespace semel::testing
