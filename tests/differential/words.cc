#include "tests/differential/words.h"

#include <algorithm>
#include <sstream>

#include "store/snapshot_text.h"

namespace semel::differential {
namespace {

using namespace core;

std::string micros(Instant at) { return std::to_string(to_micros(at)); }
std::string text(const std::optional<std::string>& value) { return value ? "'" + *value + "'" : "-"; }

std::string say(const TaskEnqueue& q) {
  std::string out =
      q.id.to_string() + " lane=" + std::to_string(static_cast<int>(q.lane)) + " " + std::string(to_string(q.kind)) +
      " name=" + q.name + " id=" + text(q.identity) + " key=" + text(q.idempotency_key) +
      " reuse=" + std::string(to_string(q.reuse)) + " on_duplicate=" + std::string(to_string(q.on_duplicate)) +
      " match_args=" + std::to_string(q.match_args) + " args=" + q.args + " concurrency_key=" + text(q.concurrency_key);
  if (q.delay) out += " delay=" + std::to_string(q.delay->count());
  if (q.timeout) out += " timeout=" + std::to_string(q.timeout->count());
  if (q.attempt_timeout.count() > 0) out += " attempt_timeout=" + std::to_string(q.attempt_timeout.count());
  if (q.group) out += " group=" + q.group->to_string();
  if (q.drop_at_end) out += " drop_at_end";
  return out;
}
std::string say(const TaskClaim& q) {
  std::string out = q.id.to_string() + (q.pool == Pool::alone ? " alone" : q.pool == Pool::runs ? " runs" : "");
  if (q.takes != core::Takes::ready) out += q.takes == core::Takes::fresh ? " fresh" : " nothing";
  for (const auto& want : q.lanes)
    out += " lane=" + std::to_string(static_cast<int>(want.lane)) + "x" + std::to_string(want.limit) +
           (want.limited ? " limited" : "");
  return out;
}
std::string say(const TaskDeliver& q) {
  return "job=" + q.identity + (q.execution ? " execution=" + q.execution->to_string() : "") +
         " claim=" + q.claim.to_string();
}
template <class Held>
  requires requires(Held q) {
    q.execution;
    q.version;
  }
std::string say(const Held& q) {
  return q.execution.to_string() + " version=" + std::to_string(q.version);
}
template <class Operator>
  requires(requires(Operator q) {
    q.tenant;
    q.execution;
  } && !std::same_as<Operator, TaskDeliver>)
std::string say(const Operator& q) {
  return q.execution.to_string();
}
std::string say(const KeyRelease& q) { return "'" + q.key + "'" + (q.force ? " force" : ""); }
std::string say(const LaneEnsure& q) {
  return q.queue + (q.config ? " with config" : "") + (q.paused ? " paused" : "");
}
std::string say(const TenantEnsure& q) { return q.name; }
std::string say(const BlockedSweep& q) {
  return "lane=" + std::to_string(static_cast<int>(q.lane)) + " limit=" + std::to_string(q.limit);
}
std::string say(const RetentionSweep& q) {
  return "after=" + q.after.to_string() + " limit=" + std::to_string(q.limit) +
         " min_age=" + std::to_string(q.min_age.count());
}
std::string say(const EnqueueWithin& q) {
  std::string out;
  for (const auto& task : q.tasks) out += "[" + say(task) + "]";
  return out;
}
std::string say(const RunAdvance& q) {
  std::string out =
      q.execution.to_string() + " version=" + std::to_string(q.version) + " known=" + std::to_string(q.known);
  for (const auto& entry : q.entries) {
    out += entry.mail ? " [mail " + entry.mail->id.to_string() + "]" : " " + std::string(to_string(entry.event.kind));
    if (entry.start) out += " (" + say(*entry.start) + ")";
  }
  return out + (q.waits ? " waits" : "");
}
std::string say(const RunSignal& q) {
  return "'" + q.identity + "' " + q.name + " '" + q.dedupe + "'" + (q.update ? " update" : "") +
         (q.start ? " (" + say(*q.start) + ")" : "");
}
template <class Other>
std::string say(const Other&) {
  return {};
}

std::string tell(const NoAnswer&) { return "done"; }
std::string tell(const Error& error) {
  std::string out = "refused " + std::string(error_info(error.code).name);
  for (const auto& detail : error.details)
    if (!detail.name.starts_with("retry_after")) out += " " + detail.name + "=" + detail.json;
  return out;
}
std::string tell(const EnqueueAnswer& a) {
  return a.execution.to_string() + " " + std::string(to_string(a.status)) + (a.created ? " created" : " existing") +
         " result=" + text(a.result) + " completed_at=" + (a.completed_at ? micros(*a.completed_at) : "-") +
         (a.result_expired ? " result_expired" : "");
}
std::string tell(const ClaimedTask& task) {
  return store::to_line(task.execution) + " " + store::to_line(task.payload);
}
std::string tell(const ClaimAnswer& a) {
  std::string out = std::to_string(a.tasks.size()) + " tasks";
  for (const auto& task : a.tasks) out += "\n    " + tell(task);
  for (const auto& [lane, at] : a.retry_at)
    out += "\n    lane " + std::to_string(static_cast<int>(lane)) + " again at " + micros(at);
  return out;
}
std::string tell(const DeliverAnswer& a) {
  static constexpr const char* kWords[] = {"claimed", "already-claimed", "no-op-terminal"};
  return std::string(kWords[static_cast<int>(a.outcome)]) + " " + tell(a.task);
}
std::string tell(const HeartbeatAnswer& a) {
  return "until " + micros(a.lease_expires_at) + (a.cancel_requested ? " cancel" : "");
}
std::string tell(const EndAnswer& a) {
  return std::string(to_string(a.status)) + (a.existing ? " existing" : "") + " scheduled_at=" + micros(a.scheduled_at);
}
std::string tell(const CancelAnswer& a) { return std::string(to_string(a.status)) + (a.requested ? " requested" : ""); }
std::string tell(const RedriveAnswer& a) { return a.successor.to_string() + (a.created ? " created" : " existing"); }
std::string tell(const DiscardAnswer& a) { return a.discarded ? "discarded" : "discarded before"; }
std::string tell(const TenantAnswer& a) {
  return std::to_string(static_cast<int>(a.tenant)) + (a.created ? " created" : " found");
}
std::string tell(const LaneAnswer& a) { return store::to_line(a.lane) + (a.created ? " created" : " found"); }
std::string tell(const KeyAnswer& a) { return a.released ? "released" : "kept"; }
std::string tell(const GroupAnswer& a) { return a.created ? "created" : "existing"; }
std::string tell(const SessionAnswer& a) { return "until " + micros(a.expires_at); }
std::string tell(const SweepAnswer& a) {
  return "looked_at=" + std::to_string(a.looked_at) + " changed=" + std::to_string(a.changed) +
         " next=" + a.next_after.to_string() + (a.more ? " more" : "");
}
std::string tell(const InboxAnswer& a) { return a.fed ? "fed" : "not fed"; }
std::string tell(const EnqueueWithinAnswer& a) {
  std::string out = std::to_string(a.tasks.size()) + " tasks";
  for (const auto& task : a.tasks) out += "\n    " + tell(task);
  return out;
}

std::string tell(const AdvanceAnswer& a) {
  return std::string(to_string(a.status)) + " events=" + std::to_string(a.events) + (a.unread ? " unread" : "") +
         (a.existing ? " existing" : "");
}
std::string tell(const ResumeAnswer& a) { return std::string(to_string(a.status)) + (a.resumed ? " resumed" : ""); }
std::string tell(const SignalAnswer& a) {
  return a.run.to_string() + (a.created ? " created" : " existing") + (a.started ? " started" : "") +
         (a.answer ? " " + std::string(to_string(a.answer->kind)) + " " + a.answer->data : "");
}

// The word that is counted.
std::string sort_of(const NoAnswer&) { return "done"; }
std::string sort_of(const Error& error) {
  std::string out(error_info(error.code).name);
  for (const auto& detail : error.details)
    if (detail.name == "reason") out += " " + detail.json;
  return out;
}
std::string sort_of(const EnqueueAnswer& a) {
  return a.created ? "created" : a.result_expired ? "result_expired" : "existing";
}
std::string sort_of(const ClaimAnswer& a) {
  return !a.retry_at.empty() ? "held back" : a.tasks.empty() ? "nothing" : "claimed";
}
std::string sort_of(const DeliverAnswer& a) {
  static constexpr const char* kWords[] = {"claimed", "already-claimed", "no-op-terminal"};
  return kWords[static_cast<int>(a.outcome)];
}
std::string sort_of(const HeartbeatAnswer& a) { return a.cancel_requested ? "cancel requested" : "renewed"; }
std::string sort_of(const EndAnswer& a) { return a.existing ? "existing" : std::string(to_string(a.status)); }
std::string sort_of(const CancelAnswer& a) { return a.requested ? "requested" : std::string(to_string(a.status)); }
std::string sort_of(const RedriveAnswer& a) { return a.created ? "created" : "existing"; }
std::string sort_of(const DiscardAnswer& a) { return a.discarded ? "discarded" : "before"; }
std::string sort_of(const TenantAnswer& a) { return a.created ? "created" : "found"; }
std::string sort_of(const LaneAnswer& a) { return a.created ? "created" : "found"; }
std::string sort_of(const KeyAnswer&) { return "released"; }
std::string sort_of(const GroupAnswer& a) { return a.created ? "created" : "existing"; }
std::string sort_of(const SessionAnswer&) { return "until"; }
std::string sort_of(const SweepAnswer& a) { return a.changed > 0 ? "changed" : "nothing"; }
std::string sort_of(const InboxAnswer& a) { return a.fed ? "fed" : "not fed"; }
std::string sort_of(const EnqueueWithinAnswer&) { return "committed"; }
std::string sort_of(const AdvanceAnswer& a) {
  return a.unread ? "unread" : a.existing ? "existing" : std::string(to_string(a.status));
}
std::string sort_of(const ResumeAnswer& a) { return a.resumed ? "resumed" : "as it was"; }
std::string sort_of(const SignalAnswer& a) {
  return std::string(a.created ? "created" : "existing") + (a.started ? " started" : "") +
         (a.answer ? " answered" : "");
}

}  // namespace

const std::vector<std::string>& operation_kinds() {
  static const std::vector<std::string> kinds = {
      "TaskEnqueue",    "TaskClaim",       "TaskDeliver",      "TaskHeartbeat",    "TaskComplete", "TaskFail",
      "TaskRelease",    "ExecutionCancel", "ExecutionRedrive", "ExecutionDiscard", "TenantEnsure", "LaneEnsure",
      "KeyRelease",     "GroupCreate",     "SessionOpen",      "SessionRenew",     "SessionClose", "LeaseForget",
      "SessionsExpire", "TimersFire",      "BlockedSweep",     "RetentionSweep",   "KeysExpire",   "LedgerSweep",
      "InboxFeed",      "EnqueueWithin",   "LedgerAdd",        "RunAdvance",       "RunSignal",    "RunResume"};
  static_assert(std::variant_size_v<core::Operation> == 30, "name the new operation here");
  return kinds;
}

std::string kind_of(const core::Operation& operation) { return operation_kinds()[operation.index()]; }

std::string describe(const core::Operation& operation) {
  return kind_of(operation) + " " + std::visit([](const auto& q) { return say(q); }, operation);
}

std::string describe(const core::Answer& answer) {
  return std::visit([](const auto& a) { return tell(a); }, answer);
}

std::string outcome_of(const core::Operation& operation, const core::Answer& answer) {
  return kind_of(operation) + " " + std::visit([](const auto& a) { return sort_of(a); }, answer);
}

std::string describe_effects(const store::Batch& batch) {
  std::string out;
  for (const auto& note : batch.notes) out += store::to_line(note) + "\n";
  auto ended = batch.wakes.ended;
  std::sort(ended.begin(), ended.end());
  for (const auto& id : ended) out += "ended " + id.to_string() + "\n";
  return out;
}

std::string essence_of(const core::Answer& answer) {
  if (const auto* a = std::get_if<EnqueueAnswer>(&answer))
    return a->execution.to_string() + (a->created ? " created" : " existing");
  if (const auto* a = std::get_if<EndAnswer>(&answer)) return std::string(to_string(a->status));
  if (const auto* a = std::get_if<RedriveAnswer>(&answer)) return a->successor.to_string();
  if (const auto* a = std::get_if<DeliverAnswer>(&answer))
    return a->outcome == DeliveryOutcome::claimed ? tell(a->task) : "";
  std::string out;
  if (const auto* a = std::get_if<ClaimAnswer>(&answer))
    for (const auto& task : a->tasks) out += tell(task) + "\n";
  return out;
}

std::string difference(const std::string& left, const std::string& right) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> out;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto a = lines_of(left), b = lines_of(right);
  std::vector<std::string> only_a, only_b;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a));
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b));
  std::string out;
  for (const auto& line : only_a) out += "  - " + line + "\n";
  for (const auto& line : only_b) out += "  + " + line + "\n";
  return out;
}

}  // namespace semel::differential
