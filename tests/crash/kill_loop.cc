#include "tests/crash/kill_loop.h"

#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "base/random.h"
#include "tests/crash/process.h"
#include "tests/crash/sql.h"

namespace semel::crash {
namespace {

constexpr int kCheckEvery = 50;
constexpr long kOpenMicros = 20'000'000;  // a child that needs longer to open its store is broken
constexpr long kNamedMicros = 3'000'000;  // a child with a named point dies by itself, if it gets there

class Loop {
 public:
  explicit Loop(const LoopOptions& options) : options_(options), random_(options.seed), sql_(open_sql(options.store)) {}

  LoopReport run() {
    std::vector<std::unique_ptr<Child>> alive;
    for (int i = 0; i < options_.processes; ++i) alive.push_back(start());
    for (std::size_t turn = 0; more_to_do(); ++turn) {
      auto& child = alive[turn % alive.size()];
      live_and_die(*child, alive);
      child = start();
      if (report_.kills % kCheckEvery == 0) check();
    }
    for (auto& child : alive) child->process->kill_and_drain([&](const std::string& line) { hear(*child, line); });
    alive.clear();
    drain();
    check();
    return std::move(report_);
  }

 private:
  struct Child {
    std::unique_ptr<Process> process;
    std::string failpoint;
    std::set<std::string> enqueuing;  // begun, not acknowledged
    std::set<std::string> completing;
    bool ready = false;
  };

  bool more_to_do() const {
    if (report_.kills >= options_.max_kills || !report_.violations.empty()) return false;
    return report_.kills < options_.kills || report_.acknowledged < options_.acknowledged ||
           report_.killed_at.size() < options_.failpoints.size();
  }

  // A third of the processes die at a named point, those not yet killed at first; the rest at a random moment.
  void choose_failpoint(Child& child, std::vector<std::string>& environment) {
    if (options_.failpoints.empty() || started_ % 3 != 2) return;
    std::vector<std::string> open, busy;
    for (const auto& point : options_.failpoints) {
      if (!report_.killed_at.count(point)) open.push_back(point);
      // The clock's are reached before the first caller has anything in flight: once each is enough.
      if (!point.starts_with("clockwork.")) busy.push_back(point);
    }
    const auto& from = open.empty() ? busy : open;
    child.failpoint = from[static_cast<std::size_t>(started_ / 3) % from.size()];
    // Most points are passed with every batch; these only now and then.
    const bool rare = child.failpoint.starts_with("clockwork.") || child.failpoint.starts_with("worker.") ||
                      child.failpoint.find("checkpoint") != std::string::npos;
    const std::uint64_t count = rare ? 1 : 2 + random_.below(20);
    environment.push_back("SEMEL_FAILPOINT=" + child.failpoint + ":" + std::to_string(count));
  }

  std::unique_ptr<Child> start() {
    auto child = std::make_unique<Child>();
    std::vector<std::string> environment;
    choose_failpoint(*child, environment);
    child->process = spawn(options_.callers, options_.workers, 4, environment);
    return child;
  }

  std::unique_ptr<Process> spawn(int callers, int workers, int claim, const std::vector<std::string>& environment) {
    const std::vector<std::string> arguments{options_.store, "p" + std::to_string(started_++), std::to_string(callers),
                                             std::to_string(workers), std::to_string(claim)};
    return std::make_unique<Process>("crash_child", arguments, environment);
  }

  void live_and_die(Child& child, std::vector<std::unique_ptr<Child>>& alive) {
    std::int64_t deadline = base::steady_micros() + kOpenMicros;
    if (child.ready) deadline = base::steady_micros() + life_of(child);
    bool open = true;
    while (open && base::steady_micros() < deadline) {
      open = child.process->read_lines(500, [&](const std::string& line) {
        const bool was_ready = child.ready;
        hear(child, line);
        if (child.ready && !was_ready) deadline = base::steady_micros() + life_of(child);
      });
      for (auto& other : alive)
        if (other.get() != &child)
          (void)other->process->read_lines(0, [&](const std::string& line) { hear(*other, line); });
    }
    if (open && !child.ready) violation("a child did not open its store");
    const int status = child.process->kill_and_drain([&](const std::string& line) { hear(child, line); });
    report_.kills += 1;
    if (!child.enqueuing.empty() || !child.completing.empty()) report_.kills_in_flight += 1;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed || (!open && child.failpoint.empty()))
      violation("a child ended by itself, status " + std::to_string(status));
    if (killed && !open && !child.failpoint.empty()) report_.killed_at[child.failpoint] += 1;
  }

  std::int64_t life_of(const Child& child) {
    return child.failpoint.empty() ? 2'000 + static_cast<std::int64_t>(random_.below(38'000)) : kNamedMicros;
  }

  void hear(Child& child, const std::string& line) {
    std::istringstream words(line);
    std::string kind, first, second;
    words >> kind >> first >> second;
    if (kind == "R") child.ready = true;
    if (kind == "V") report_.visited.insert(first);
    if (kind == "b") child.enqueuing.insert(first);
    if (kind == "B") child.completing.insert(first);
    if (kind == "a") {
      child.enqueuing.erase(first);
      report_.acknowledged += 1;
      enqueued_[first] = hex_of(second);
    }
    if (kind == "C") {
      child.completing.erase(first);
      report_.acknowledged += 1;
      auto [it, fresh] = completed_.emplace(hex_of(first), second);
      if (!fresh && it->second != second)
        violation("execution " + first + " was completed twice: " + it->second + " and " + second);
    }
  }

  void violation(const std::string& text) {
    if (report_.violations.size() < 10) report_.violations.push_back(text);
  }

  // Liveness: once nothing fails any more, everything accepted ends.
  void drain() {
    Child last;
    last.process = spawn(0, 4, 200, {});
    const std::string open =
        std::string("SELECT count(*) FROM ") + (sql_->is_sqlite() ? "" : "semel.") + "execution WHERE status < 4";
    std::int64_t look_at = 0;
    bool ended = false;
    const std::int64_t deadline = base::steady_micros() + 120'000'000;
    while (!ended && base::steady_micros() < deadline) {
      if (!last.process->read_lines(10'000, [&](const std::string& line) { hear(last, line); })) break;
      if (base::steady_micros() < look_at) continue;
      look_at = base::steady_micros() + 200'000;
      ended = sql_->number(open) == 0;
    }
    if (!ended) violation(std::to_string(sql_->number(open)) + " accepted tasks never end");
    last.process->kill_and_drain([&](const std::string& line) { hear(last, line); });
  }

  void check() {
    std::map<std::string, SqlExecution> found;
    for (auto& row : executions(*sql_)) {
      std::string id = row.id;
      found.emplace(std::move(id), std::move(row));
    }
    std::map<std::string, std::string> targets;
    for (auto& [task_id, id] : identities(*sql_)) targets.emplace(task_id, id);
    report_.checked = 0;
    for (const auto& [task_id, id] : enqueued_) {
      if (!found.count(id)) violation("acknowledged enqueue " + task_id + " is lost");
      if (auto it = targets.find(task_id); it == targets.end() || it->second != id)
        violation("id " + task_id + " does not lead to its execution");
      ++report_.checked;
    }
    for (const auto& [id, token] : completed_) {
      auto it = found.find(id);
      if (it == found.end() || it->second.status != 4 || it->second.result != token)
        violation("acknowledged completion of " + id + " is lost");
      ++report_.checked;
    }
    for (const auto& [id, row] : found) {
      if (row.status < 4) continue;
      auto [it, fresh] = terminal_.emplace(id, row.bytes);
      if (!fresh && it->second != row.bytes)
        violation("terminal row " + id + " changed: " + it->second + " -> " + row.bytes);
    }
    if (const long changes = changes_of_terminal_rows(*sql_); changes != 0)
      violation("terminal rows were written " + std::to_string(changes) + " times");
  }

  LoopOptions options_;
  base::SeededRandom random_;
  std::unique_ptr<Sql> sql_;
  LoopReport report_;
  int started_ = 0;
  std::map<std::string, std::string> enqueued_;   // task_id -> execution id, as acknowledged
  std::map<std::string, std::string> completed_;  // execution id -> result, as acknowledged
  std::map<std::string, std::string> terminal_;   // execution id -> row as first seen terminal
};

}  // namespace

LoopReport run_kill_loop(const LoopOptions& options) { return Loop(options).run(); }

std::string to_text(const LoopReport& report) {
  std::ostringstream out;
  out << "kills " << report.kills << ", with an operation in flight " << report.kills_in_flight
      << ", acknowledged writes " << report.acknowledged << ", checked by SQL " << report.checked << ", violations "
      << report.violations.size() << "\n";
  for (const auto& [name, count] : report.killed_at) out << "  killed at " << name << ": " << count << "\n";
  for (const auto& text : report.violations) out << "  " << text << "\n";
  return out.str();
}

}  // namespace semel::crash
