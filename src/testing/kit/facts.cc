#include "testing/kit/facts.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "sdk/workflow/code.h"
#include "testing/kit/kit.h"

namespace semel::testing {
namespace {

using core::EventKind;

constexpr std::int64_t kPage = 4 << 20;

std::vector<core::Event> history_of(TestEngine& kit, ExecutionId run) {
  std::vector<core::Event> out;
  while (true) {
    const auto page = Kit::driver(kit).store().history_get(run, static_cast<std::int32_t>(out.size()), kPage);
    if (!page || page->empty()) return out;
    for (const auto& row : *page) {
      auto events = core::decode_events(row.events).value();
      for (auto& event : events) out.push_back(sdk::open_event(std::move(event), Kit::sealer(kit)));
    }
  }
}

bool is_outcome(EventKind kind) {
  return core::is_input(kind) && kind != EventKind::signal_received && kind != EventKind::update_received &&
         kind != EventKind::cancel_requested && kind != EventKind::timer_fired;
}

bool is_local(EventKind kind) { return kind == EventKind::local_completed || kind == EventKind::local_failed; }

std::string outcome_words(const core::Event& event) {
  const std::string word(core::to_string(event.kind));
  return word.substr(word.find('_') + 1) + (event.data.empty() ? "" : " " + event.data);
}

// Reads the histories of a run, of what continues it and of its children, and remembers what every id means.
class Reader {
 public:
  Reader(TestEngine& kit, Facts& facts) : kit_(kit), facts_(facts) {}

  void read(ExecutionId root) {
    queue_.push_back({root, "run 1", false});
    names_.emplace_back(root.to_string(), "<run 1>");
    while (!queue_.empty()) {
      const Next next = queue_.front();
      queue_.pop_front();
      read_run(next);
    }
  }

  std::string plain(std::string text) const {
    for (const auto& [id, name] : names_)
      for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id, at + name.size()))
        text.replace(at, id.size(), name);
    return text;
  }
  void make_plain() {
    for (auto* calls : {&facts_.calls, &facts_.calls_of_children})
      for (auto& [call, outcome] : *calls) outcome = plain(std::move(outcome));
    facts_.state = plain(std::move(facts_.state));
    facts_.outcome = plain(std::move(facts_.outcome));
  }
  ExecutionId last_run() const { return last_; }

 private:
  struct Next {
    ExecutionId id;
    std::string label;
    bool child;
  };

  void read_run(const Next& run) {
    if (!run.child) last_ = run.id;
    auto& calls = run.child ? facts_.calls_of_children : facts_.calls;
    std::map<std::int32_t, std::string> labels;
    for (const auto& event : history_of(kit_, run.id)) {
      const std::string label = "'" + event.name + "' #" + std::to_string(event.command) + " of " + run.label;
      const bool starts = event.kind == EventKind::step_scheduled || event.kind == EventKind::child_started;
      if (starts || event.kind == EventKind::signal_sent) calls.try_emplace(labels[event.command] = label);
      if (is_local(event.kind)) labels[event.command] = label;
      if (is_outcome(event.kind)) calls[labels[event.command]] = outcome_words(event);
      if (starts && event.execution) name_execution(event, label);
    }
    // Continued as new, or tried again after a failure.
    if (const auto row = kit_->get(run.id); row && row->next_execution_id) follow(run, *row->next_execution_id);
  }
  void name_execution(const core::Event& event, const std::string& label) {
    names_.emplace_back(event.execution->to_string(), "<" + label + ">");
    if (event.kind == EventKind::child_started) queue_.push_back({*event.execution, "child " + label, true});
  }
  void follow(const Next& run, ExecutionId next) {
    const std::string label = run.child ? run.label + ", continued" : "run " + std::to_string(++runs_);
    names_.emplace_back(next.to_string(), "<" + label + ">");
    queue_.push_back({next, label, run.child});
  }

  TestEngine& kit_;
  Facts& facts_;
  std::deque<Next> queue_;
  std::vector<std::pair<std::string, std::string>> names_;  // id -> what it is
  ExecutionId last_;
  int runs_ = 1;
};

std::string words_of(const Result<Execution>& ended) {
  if (!ended) return std::string(error_info(ended.error().code).name) + ": " + ended.error().message;
  std::string out(to_string(ended->status));
  if (ended->result) out += " " + ended->result->bytes;
  if (ended->status != Status::succeeded && ended->error)
    out += " " + ended->error->name + ": " + ended->error->message;
  return out;
}

void compare(std::vector<CrashFact>& out, const std::string& what, const std::string& expected,
             const std::string& actual) {
  if (expected != actual) out.push_back({what, expected, actual});
}

// `all`: what is there in one world only is a difference too.
void compare(std::vector<CrashFact>& out, const std::map<std::string, std::string>& expected,
             const std::map<std::string, std::string>& actual, bool all) {
  for (const auto& [call, outcome] : expected) {
    const auto it = actual.find(call);
    if (it == actual.end() && all) out.push_back({call, outcome.empty() ? "asked for" : outcome, "never asked for"});
    if (it != actual.end() && !outcome.empty() && !it->second.empty()) compare(out, call, outcome, it->second);
  }
  for (const auto& [call, outcome] : actual)
    if (all && !expected.contains(call))
      out.push_back({call, "never asked for", outcome.empty() ? "asked for" : outcome});
}

}  // namespace

Facts facts_of(TestEngine& kit, const RawHandle& run, const Result<Execution>& ended) {
  Facts out;
  Reader reader(kit, out);
  reader.read(run.execution_id());
  out.outcome = words_of(ended);
  if (const auto row = Kit::driver(kit).store().run_get(reader.last_run()); row && *row && (*row)->state) {
    const auto state = Kit::sealer(kit).open(Payload{Encoding::json, *(*row)->state});
    out.state = state ? state->bytes : *(*row)->state;
  }
  reader.make_plain();
  out.broken = kit.verify();
  return out;
}

std::vector<CrashFact> differences(const Facts& expected, const Facts& actual) {
  std::vector<CrashFact> out;
  compare(out, "outcome", expected.outcome, actual.outcome);
  compare(out, "state", expected.state, actual.state);
  for (std::size_t i = 0; i < expected.observed.size() && i < actual.observed.size(); ++i)
    compare(out, expected.observed[i].first, expected.observed[i].second, actual.observed[i].second);
  compare(out, expected.calls, actual.calls, true);
  compare(out, expected.calls_of_children, actual.calls_of_children, false);
  for (const auto& broken : actual.broken) out.push_back({"store", "sound", broken});
  return out;
}

}  // namespace semel::testing
