// explain: why it did not run, and which duplicates were suppressed
#include "cli/verbs/explain.h"

#include "api/json/render.h"
#include "base/duration.h"
#include "base/text.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "engine/explain_run.h"

namespace semel::cli {
namespace {

std::string_view words_of(core::LedgerRule rule) {
  switch (rule) {
    case core::LedgerRule::existing_live:
      return "answered with the live execution";
    case core::LedgerRule::existing_completed:
      return "answered with the recorded outcome";
    case core::LedgerRule::rejected:
      return "rejected, as on_duplicate asked";
    case core::LedgerRule::fingerprint_mismatch:
      return "refused: other name or args";
    case core::LedgerRule::key_existing:
      return "answered through the idempotency key";
    case core::LedgerRule::key_conflict:
      return "refused: id and key lead to different executions";
    case core::LedgerRule::result_expired:
      return "answered by the key after the result was gone";
    case core::LedgerRule::delivery_already_claimed:
      return "delivery met a live lease";
    case core::LedgerRule::delivery_terminal:
      return "delivery met a finished task";
    case core::LedgerRule::repeated_completion:
      return "completion repeated, answered as recorded";
    case core::LedgerRule::stale_version:
      return "write of a lost lease refused";
    case core::LedgerRule::repeated_redrive:
      return "redrive repeated, answered with the same successor";
  }
  return "?";
}

std::string reason_words(const core::Execution& e) {
  const std::string_view why = api::reason_of(e);
  return why.empty() ? "" : " (" + std::string(why) + ")";
}

void tell_life(std::string& out, const core::Execution& e) {
  const auto line = [&](const std::optional<Instant>& at, const std::string& what) {
    if (at) out += "  " + base::format_instant(*at) + "  " + plain(what) + "\n";
  };
  line(e.created_at, "created");
  if (e.kind == Kind::workflow) line(e.started_at, "first claimed");
  else if (e.attempt > 0)
    line(e.started_at, "attempt " + std::to_string(e.attempt) + " of " + std::to_string(e.max_attempts) +
                           " claimed by " + e.worker.value_or("?"));
  const bool owned = e.kind == Kind::workflow && e.session;  // `worker` is not the one that gave it up
  if (e.last_end != core::AttemptEnd::none && !is_terminal(e.status) && !owned) {
    out += (e.kind == Kind::task ? "  the attempt before ended: "
                                 : "  given up by " + plain(e.worker.value_or("?")) + ": ") +
           std::string(engine::to_string(e.last_end)) + "\n";
  }
  line(e.cancel_requested_at, "cancel requested");
  line(e.completed_at, std::string(to_string(e.status)) + reason_words(e) +
                           (e.attempt > 1 ? " at attempt " + std::to_string(e.attempt) : ""));
  if (e.error) out += "  error   " + plain(*e.error) + "\n";
  if (e.result) out += "  result  " + plain(*e.result) + "\n";
}

void tell_duplicates(std::string& out, const engine::ExplainedDuplicates& duplicates) {
  std::int64_t total = 0;
  for (const auto& [rule, count] : duplicates.counts) total += count;
  if (total == 0) return;
  const bool key = duplicates.space == core::Space::key;
  out += "\nSuppressed for " + std::string(key ? "key " : "id ") + plain(duplicates.key) + ": " +
         std::to_string(total) + "\n";
  for (const auto& [rule, count] : duplicates.counts) {
    out += "  " + std::to_string(count) + " x " + std::string(words_of(rule)) + " (" +
           std::string(engine::to_string(rule)) + ")\n";
  }
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, duplicates.recent.size()); ++i) {
    const auto& note = duplicates.recent[i];
    out += "  " + base::format_instant(note.at) + "  " + std::string(engine::to_string(note.rule)) + ", won by " +
           note.winner.to_string() + "\n";
  }
}

std::string open_line(const engine::OpenCommand& command) {
  std::string out = "  #" + std::to_string(command.command) + " " + std::string(engine::noun_of(command.kind));
  if (!command.name.empty()) out += " " + plain(command.name);
  if (!command.id.empty()) out += "  " + plain(command.id);
  if (command.due_at) out += "  due " + base::format_instant(*command.due_at);
  if (command.status) out += "  " + std::string(to_string(*command.status));
  if (command.execution) out += "  " + command.execution->to_string();
  return out + "\n";
}

void tell_run(std::string& out, const engine::Explanation& explanation) {
  const engine::ExplainedRun& run = *explanation.run;
  const core::Execution& e = explanation.execution->execution;
  if (run.parked_at) {
    out += "\nEvent " + std::to_string(run.parked_at->seq) + " of its history is " + plain(run.parked_at->expected) +
           ", but " + plain(run.parked_at->actual) + ".\nOnce the code fits again: `semel workflow resume " +
           e.id.to_string() + "`.\n";
  }
  const bool waits = explanation.reason == engine::WaitReason::outcomes;
  if (!run.open.empty()) out += waits ? "\nWaits for:\n" : "\nStarted and not over:\n";
  for (const auto& command : run.open) out += open_line(command);
  const auto more = run.open_count - static_cast<std::int64_t>(run.open.size());
  if (more > 0) out += "  and " + std::to_string(more) + " more\n";
  if (run.unread_count > 0) out += "\nUnread in its mailbox: " + std::to_string(run.unread_count) + "\n";
  if (e.next) out += "\nThe workflow goes on in run " + e.next->to_string() + "\n";
}

Result<int> explain(Session& session, const Args& args) {
  const bool typed = args.has("ID");
  const std::string word = typed ? args.text("KIND") : "execution";
  const std::string id = typed ? args.text("ID") : args.text("KIND");
  const auto kind = kind_from_string(word);
  if (!kind && word != "execution" && word != "key") {
    return session.bad_usage("explain task ID, explain workflow ID, explain execution ID or explain key KEY; not " +
                             base::printable(word));
  }
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(explanation, word == "key" ? runtime->engine().explain_key(session.tenant(), id)
                                       : runtime->engine().explain(session.tenant(), id, kind));
  session.print(api::explanation_json(explanation), [&] { return explanation_text(explanation); });
  return kDone;
}

}  // namespace

std::string explanation_text(const engine::Explanation& explanation) {
  std::string out = plain(explanation.summary) + "\n";
  if (explanation.execution) {
    const auto& view = *explanation.execution;
    const core::Execution& e = view.execution;
    out += "\n" + plain(api::task_id_of(e)) + "  " + plain(e.name) + " in queue " + plain(view.queue) + "\n";
    out += (explanation.run ? "  run " : "  execution ") + e.id.to_string() + ", " + std::string(to_string(e.status)) +
           reason_words(e) + "\n";
    tell_life(out, e);
    if (explanation.run) tell_run(out, explanation);
  }
  if (explanation.reason != engine::WaitReason::none) {
    out += "\nWhy it does not run: " + std::string(engine::to_string(explanation.reason));
    if (explanation.not_before) out += ", not before " + base::format_instant(*explanation.not_before);
    out += "\n";
  }
  if (explanation.lease_expires_at) {
    out += std::string(explanation.run ? "\nIts owner's session ends " : "\nIts lease ends ") +
           base::format_instant(*explanation.lease_expires_at) + " unless it is renewed.\n";
  }
  if (explanation.attention) {
    const auto& attention = *explanation.attention;
    if (attention.successor) out += "\nRedriven: runs again as " + attention.successor->to_string() + "\n";
    else if (attention.discarded_at) out += "\nDiscarded " + base::format_instant(*attention.discarded_at) + "\n";
    else if (attention.status == Status::dead_lettered)
      out += "\nWaits for `semel task redrive` or `semel task discard`.\n";
  }
  for (const auto& duplicates : explanation.duplicates) tell_duplicates(out, duplicates);
  if (!explanation.chain.empty()) {
    out += std::string("\nEarlier ") + (explanation.run ? "runs" : "executions") + " of this id:\n";
    for (const auto& view : explanation.chain) {
      out += "  " + view.execution.id.to_string() + "  " + std::string(to_string(view.execution.status)) + "\n";
    }
  }
  return out;
}

void add_explain_verbs(std::vector<Verb>& out) {
  out.push_back({"explain",
                 "the story of an id: why it does not run, which duplicates were answered and by which rule",
                 {{"KIND", "task, workflow, execution or key; or the id itself"}, {"ID", "the id", false}},
                 {},
                 "  semel explain task pay-1\n  semel explain workflow order-7\n  semel explain key order-7 -o json\n",
                 explain});
}

}  // namespace semel::cli
