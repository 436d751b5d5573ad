// doctor, verify, backup, restore, purge, migrate, version
#include <sys/statvfs.h>

#include <chrono>

#include "base/clock.h"
#include "base/duration.h"
#include "base/json_writer.h"
#include "cli/process.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "cli/version.h"

namespace semel::cli {
namespace {

struct Check {
  std::string name;
  std::string status;  // ok, warning, failed
  std::string message;
};

class Checks {
 public:
  void ok(std::string name, std::string message) { all_.push_back({std::move(name), "ok", std::move(message)}); }
  void warn(std::string name, std::string message) { all_.push_back({std::move(name), "warning", std::move(message)}); }
  void fail(std::string name, const Error& error) {
    failed_ = true;
    damaged_ = damaged_ || error.code == ErrorCode::StoreCorrupt;
    all_.push_back({std::move(name), "failed", std::string(error_info(error.code).name) + ": " + error.message});
  }
  int exit_code() const { return damaged_ ? kDamaged : failed_ ? kRefused : kDone; }

  std::string json() const {
    std::string out;
    base::JsonWriter json(out);
    json.begin_object().field("ok", !failed_).key("checks").begin_array();
    for (const auto& check : all_) {
      json.begin_object()
          .field("name", check.name)
          .field("status", check.status)
          .field("message", check.message)
          .end_object();
    }
    json.end_array().end_object();
    return out;
  }
  std::string table() const {
    Table table{"CHECK", "STATUS", ""};
    for (const auto& check : all_) table.add({check.name, check.status, check.message});
    return table.print();
  }

 private:
  std::vector<Check> all_;
  bool failed_ = false;
  bool damaged_ = false;
};

void check_disk(Checks& checks, const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : file.substr(0, slash + 1);
  struct statvfs about{};
  if (::statvfs(folder.c_str(), &about) != 0) return;
  const std::uint64_t free_mib = static_cast<std::uint64_t>(about.f_bavail) * about.f_frsize >> 20;
  constexpr std::uint64_t kLowMib = 256;
  const std::string text = std::to_string(free_mib) + " MiB free in " + folder;
  if (free_mib < kLowMib) checks.warn("disk", text + "; a full disk refuses writes with StoreFull");
  else checks.ok("disk", text);
}

void check_clock(Checks& checks, store::Store& store, const std::optional<std::string>& step) {
  const Duration apart = store.clock().now() - base::wall_now();
  Duration size = apart.count() < 0 ? -apart : apart;
  if (size > std::chrono::seconds(60)) size = std::chrono::round<std::chrono::seconds>(size);
  const std::string text = "store and this machine differ by " + base::format_duration(size);
  if (size > std::chrono::seconds(60)) checks.warn("clock", text + "; leases and due times follow the store");
  else if (step) checks.warn("clock", *step);
  else checks.ok("clock", text);
}

void check_others(Checks& checks, store::Store& store) {
  const auto alarms = store.alarms();
  if (!alarms) return checks.fail("others", alarms.error());
  for (const std::string& alarm : *alarms) checks.warn("others", alarm);
  if (alarms->empty()) checks.ok("others", "nobody holds the store back");
}

void check_history(Checks& checks, store::Store& store) {
  const auto told = store.history_told();
  if (!told) return checks.fail("history", told.error());
  if (!*told) return;
  const auto& note = **told;
  if (!note.at) return checks.ok("history", note.now);
  checks.warn("history", note.now + "; at " + base::format_instant(*note.at) + " it went over from " + note.before +
                             ": what was acknowledged there shortly before may be missing here, and what ran then was "
                             "given back");
}

void check_store(Checks& checks, Session& session, const StoreUrl& url) {
  auto opened = session.reader();
  if (!opened) {
    checks.fail("store", opened.error());
    return;
  }
  auto& store = (*opened)->store();
  auto tenants = store.tenant_list();
  if (!tenants) {
    checks.fail("store", tenants.error());
    return;
  }
  checks.ok("store", without_password(session.settings().store) + " answers, schema fits, " +
                         std::to_string(tenants->size()) + " tenant(s)");
  check_clock(checks, store, recent_clock_step(url));
  check_history(checks, store);
  check_others(checks, store);
  auto lanes = store.lane_list();
  if (!lanes) {
    checks.fail("queues", lanes.error());
    return;
  }
  std::string paused;
  for (const auto& lane : *lanes) {
    if (lane.config.paused) paused += (paused.empty() ? "" : ", ") + lane.queue;
  }
  if (paused.empty()) checks.ok("queues", std::to_string(lanes->size()) + " known, none paused");
  else checks.warn("queues", "paused: " + paused + "; semel queue resume NAME lets them go on");
}

Result<int> doctor(Session& session, const Args&) {
  Checks checks;
  const Settings& settings = session.settings();
  checks.ok("version", std::string("semel ") + kVersion);
  checks.ok("settings", settings.config_file.empty() ? "no semel.toml here; defaults, environment and flags"
                                                     : settings.config_file + " read");
  auto url = parse_store_url(settings.store);
  if (!url) {
    checks.fail("store", url.error());
  } else {
    if (url->backend == Backend::sqlite) {
      const LibraryVersions versions = library_versions();
      if (versions.sqlite_is_old) {
        checks.warn("sqlite",
                    versions.sqlite + " is older than 3.51.3: let no other program write or checkpoint the file");
      } else {
        checks.ok("sqlite", versions.sqlite);
      }
      check_disk(checks, url->target);
    }
    check_store(checks, session, *url);
  }
  session.print(checks.json(), [&] { return checks.table(); });
  return checks.exit_code();
}

Result<int> verify(Session& session, const Args&) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(broken, runtime->store().verify());
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("ok", broken.empty()).key("broken").begin_array();
  for (const auto& row : broken) json.value(row);
  json.end_array().end_object();
  session.print(body, [&] {
    std::string out;
    for (const auto& row : broken) out += plain(row) + "\n";
    return out + (broken.empty() ? "sound: every invariant between the tables holds\n"
                                 : std::to_string(broken.size()) + " broken\n");
  });
  return broken.empty() ? kDone : kDamaged;
}

int print_file(Session& session, const char* verb, const std::string& file) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("store", without_password(session.settings().store)).field("file", file).end_object();
  session.print(body, [&] { return std::string(verb) + " " + file + "\n"; });
  return kDone;
}

Result<int> backup(Session& session, const Args& args) {
  const std::string file = args.text("FILE");
  if (auto copied = backup_store(session.settings().store, file); !copied) return copied.error();
  return print_file(session, "saved in", file);
}

Result<int> restore(Session& session, const Args& args) {
  const std::string file = args.text("FILE");
  SEMEL_TRY(restored, restore_store(file, session.settings().store));
  const std::string kept = restored.kept.value_or("");
  const std::string as_of = restored.as_of ? base::format_instant(*restored.as_of) : "";
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("store", without_password(session.settings().store)).field("file", file);
  json.field("generation", restored.generation);
  if (!as_of.empty()) json.field("as_of", as_of);
  if (!kept.empty()) json.field("replaced", kept);
  json.end_object();
  session.print(body, [&] {
    std::string out = "restored from " + file + "\n";
    if (!as_of.empty()) out += "as of " + as_of + ": what happened since is not in it, and may happen again\n";
    if (!kept.empty())
      out += "the store that was there is now " + plain(kept.substr(kept.rfind('/') + 1)) + ", beside it\n";
    return out;
  });
  return kDone;
}

Result<int> purge(Session& session, const Args&) {
  SEMEL_TRY(runtime, session.writer());
  std::int64_t deleted = 0;
  std::int64_t looked_at = 0;
  ExecutionId after;
  for (;;) {
    SEMEL_TRY(page,
              session.ask<core::SweepAnswer>([&](auto done) { runtime->engine().purge(after, std::move(done)); }));
    deleted += page.changed;
    looked_at += page.looked_at;
    after = page.next_after;
    if (!page.more) break;
  }
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("deleted_count", deleted).field("looked_at_count", looked_at).end_object();
  session.print(body, [&] { return std::to_string(deleted) + " executions were past their retention and are gone\n"; });
  return kDone;
}

Result<int> migrate(Session& session, const Args&) {
  OpenOptions store;
  store.migrate = true;
  engine::RuntimeOptions options;
  options.clockwork_runs = false;
  SEMEL_TRY(runtime, session.open(store, options));
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("store", without_password(session.settings().store));
  json.field("backend", runtime->store().backend()).field("migrated", true).end_object();
  session.print(body, [&] { return without_password(session.settings().store) + ": schema is up to date\n"; });
  return kDone;
}

Result<int> version(Session& session, const Args&) {
  const LibraryVersions versions = library_versions();
  std::string body;
  base::JsonWriter json(body);
  json.begin_object().field("version", kVersion).field("sqlite", versions.sqlite).end_object();
  session.print(body, [&] { return std::string("semel ") + kVersion + " (sqlite " + versions.sqlite + ")\n"; });
  return kDone;
}

}  // namespace

void add_maintenance_verbs(std::vector<Verb>& out) {
  out.push_back({"doctor",
                 "is everything as it should be: settings, store, versions, clock, disk",
                 {},
                 {},
                 "  semel doctor --store postgres://semel@db/semel\n",
                 doctor});
  out.push_back({"verify",
                 "check every invariant between the tables; exit code 3 when one is broken",
                 {},
                 {},
                 "  semel verify --store sqlite:app.db\n",
                 verify});
  out.push_back({"backup",
                 "copy a SQLite store, live or not, into a new file",
                 {{"FILE", "where to; must not exist"}},
                 {},
                 "  semel backup app-backup.db --store sqlite:app.db\n",
                 backup});
  out.push_back({"restore",
                 "replace a SQLite store by a backup, after checking it",
                 {{"FILE", "the backup"}},
                 {},
                 "  semel restore app-backup.db --store sqlite:app.db\n",
                 restore});
  out.push_back({"purge", "delete what is past its retention now", {}, {}, "  semel purge\n", purge});
  out.push_back({"migrate",
                 "bring the schema of a store up to date",
                 {},
                 {},
                 "  semel migrate --store postgres://semel@db/semel\n",
                 migrate});
  out.push_back({"version", "which version this is", {}, {}, "  semel version -o json\n", version});
}

}  // namespace semel::cli
