// task claim, deliver, heartbeat, complete, fail, release: workers written as scripts
#include <limits>

#include "api/json/render.h"
#include "base/duration.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"
#include "core/validate.h"

namespace semel::cli {
namespace {

constexpr Duration kDefaultLease{30'000'000};

Result<Duration> lease_of(const Args& args) {
  SEMEL_TRY(lease, duration_flag(args, "lease"));
  const Duration chosen = lease.value_or(kDefaultLease);
  if (auto valid = core::validate_lease(chosen); !valid) return valid.error();
  return chosen;
}

Result<std::int32_t> version_of(const Args& args) {
  SEMEL_TRY(version, args.integer("version"));
  if (!version) return make_error(ErrorCode::InvalidArgument, "version is missing; give the one the claim answered");
  if (*version < 0 || *version > std::numeric_limits<std::int32_t>::max()) {
    return make_error(ErrorCode::InvalidArgument,
                      "version must be the one the claim answered, not " + std::to_string(*version));
  }
  return static_cast<std::int32_t>(*version);
}

// An expired lease or a due timer of a store nobody else works on is noticed by whoever comes next.
Result<void> catch_up(Session& session, engine::Runtime& runtime) {
  const auto run = [&](core::Operation operation) {
    return session.ask<bool>([&](auto done) {
      runtime.engine().writer().submit(std::move(operation), [done](core::Answer answer) {
        if (auto* error = std::get_if<Error>(&answer)) return done(std::move(*error));
        done(true);
      });
    });
  };
  if (auto fired = run(core::TimersFire{}); !fired) return fired.error();
  if (auto expired = run(core::SessionsExpire{}); !expired) return expired.error();
  return {};
}

Result<int> claim(Session& session, const Args& args) {
  engine::ClaimRequest request;
  request.tenant = session.tenant();
  request.queues = split_list(args.text("queues"));
  request.worker = args.text("worker", "cli");
  SEMEL_TRY(max, args.integer("max"));
  SEMEL_TRY(wait, duration_flag(args, "wait"));
  SEMEL_TRY(lease, lease_of(args));
  if (max.value_or(1) < 1 || max.value_or(1) > 1000) {
    return make_error(ErrorCode::InvalidArgument, "max must be 1 .. 1000, not " + std::to_string(*max));
  }
  request.max = static_cast<std::int32_t>(max.value_or(1));
  request.wait = wait.value_or(Duration{0});
  request.lease = lease;
  SEMEL_TRY(runtime, session.writer(request.wait.count() > 0));
  if (auto caught_up = catch_up(session, *runtime); !caught_up) return caught_up.error();
  using Views = std::vector<store::ExecutionView>;
  SEMEL_TRY(views,
            session.ask<Views>([&](auto done) { runtime->engine().claim(std::move(request), std::move(done)); }));
  session.print(api::claimed_json(views), [&] {
    Table table{"EXECUTION", "TASK", "NAME", "VERSION", "ATTEMPT", "LEASE EXPIRES"};
    for (const auto& view : views) {
      const auto& e = view.execution;
      table.add({e.id.to_string(), api::task_id_of(e), e.name, std::to_string(e.version), std::to_string(e.attempt),
                 e.lease_expires_at ? base::format_instant(*e.lease_expires_at) : ""});
    }
    return views.empty() ? std::string("nothing to claim\n") : table.print();
  });
  return kDone;
}

Result<int> deliver(Session& session, const Args& args) {
  engine::DeliverRequest request;
  request.tenant = session.tenant();
  request.job_id = args.text("JOB_ID");
  request.worker = args.text("worker", "cli");
  SEMEL_TRY(lease, lease_of(args));
  request.lease = lease;
  if (const auto text = args.get("execution-id")) {
    SEMEL_TRY(id, execution_id_of(*text));
    request.execution = id;
  }
  SEMEL_TRY(runtime, session.writer());
  if (auto caught_up = catch_up(session, *runtime); !caught_up) return caught_up.error();
  SEMEL_TRY(outcome, session.ask<engine::DeliverOutcome>(
                         [&](auto done) { runtime->engine().deliver(std::move(request), std::move(done)); }));
  session.print(api::delivery_json(outcome), [&] {
    const auto& e = outcome.execution.execution;
    Lines lines;
    lines.add("outcome", std::string(engine::to_string(outcome.outcome))).add("execution_id", e.id.to_string());
    lines.add("status", std::string(to_string(e.status))).add("version", std::to_string(e.version));
    return lines.print();
  });
  return kDone;
}

Result<int> heartbeat(Session& session, const Args& args) {
  engine::HeartbeatRequest request;
  SEMEL_TRY(id, execution_id_of(args.text("EXECUTION_ID")));
  SEMEL_TRY(version, version_of(args));
  SEMEL_TRY(lease, lease_of(args));
  request.execution = id;
  request.version = version;
  request.lease = lease;
  request.progress = args.get("progress");
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::HeartbeatAnswer>(
                        [&](auto done) { runtime->engine().heartbeat(std::move(request), std::move(done)); }));
  session.print(api::heartbeat_json(id, answer), [&] {
    return "lease until " + base::format_instant(answer.lease_expires_at) +
           (answer.cancel_requested ? ", and please stop: cancel was requested\n" : "\n");
  });
  return kDone;
}

int print_end(Session& session, ExecutionId id, const core::EndAnswer& answer) {
  session.print(api::end_json(id, answer), [&] {
    std::string out = id.to_string() + ": " + std::string(to_string(answer.status));
    if (answer.existing) out += " (recorded before; nothing changed)";
    if (answer.status == Status::queued) out += ", not before " + base::format_instant(answer.scheduled_at);
    return out + "\n";
  });
  return kDone;
}

Result<int> complete(Session& session, const Args& args) {
  engine::CompleteRequest request;
  SEMEL_TRY(id, execution_id_of(args.text("EXECUTION_ID")));
  SEMEL_TRY(version, version_of(args));
  request.execution = id;
  request.version = version;
  request.result = args.get("result");
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::EndAnswer>(
                        [&](auto done) { runtime->engine().complete(std::move(request), std::move(done)); }));
  return print_end(session, id, answer);
}

Result<int> fail(Session& session, const Args& args) {
  engine::FailRequest request;
  SEMEL_TRY(id, execution_id_of(args.text("EXECUTION_ID")));
  SEMEL_TRY(version, version_of(args));
  SEMEL_TRY(next_delay, duration_flag(args, "next-delay"));
  SEMEL_TRY(retryable, args.boolean("retryable"));
  request.execution = id;
  request.version = version;
  request.error_name = args.text("error-name", "Error");
  request.error_message = args.text("error-message");
  request.error_details = args.get("error-details");
  request.next_delay = next_delay;
  request.retryable = retryable.value_or(true);
  request.cancelled = args.has("cancelled");
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::EndAnswer>(
                        [&](auto done) { runtime->engine().fail(std::move(request), std::move(done)); }));
  return print_end(session, id, answer);
}

Result<int> release(Session& session, const Args& args) {
  engine::ReleaseRequest request;
  SEMEL_TRY(id, execution_id_of(args.text("EXECUTION_ID")));
  SEMEL_TRY(version, version_of(args));
  SEMEL_TRY(delay, duration_flag(args, "delay"));
  request.execution = id;
  request.version = version;
  request.delay = delay.value_or(Duration{0});
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::EndAnswer>(
                        [&](auto done) { runtime->engine().release(std::move(request), std::move(done)); }));
  return print_end(session, id, answer);
}

}  // namespace

void add_holder_verbs(std::vector<Verb>& out) {
  const Flag version{"version", "N", "the fencing token the claim answered"};
  const Flag lease{"lease", "DURATION", "how long it is yours without a heartbeat (30s)"};
  const Flag worker{"worker", "NAME", "who claims (cli)"};
  const Positional execution{"EXECUTION_ID", "the claimed execution"};
  out.push_back({"task claim",
                 "take ready tasks under a lease",
                 {},
                 {{"queues", "NAMES", "only these queues, e.g. payments,mail"},
                  worker,
                  {"max", "N", "at most (1)"},
                  {"wait", "DURATION", "wait this long for work (0)"},
                  lease},
                 "  semel task claim --queues payments --worker script-1 --lease 60s -o json\n",
                 claim});
  out.push_back({"task deliver",
                 "one delivery of a job from a message broker: claimed, already-claimed or no-op-terminal",
                 {{"JOB_ID", "the task_id of the job"}},
                 {worker, lease, {"execution-id", "ID", "when the message carries one"}},
                 "  semel task deliver pay-1 --worker broker-7 -o json\n",
                 deliver});
  out.push_back({"task heartbeat",
                 "renew the lease of a claimed task",
                 {execution},
                 {version, lease, {"progress", "JSON", "kept with the execution, handed to the next attempt"}},
                 "  semel task heartbeat $ID --version 2 --progress '{\"done\":40}'\n",
                 heartbeat});
  out.push_back({"task complete",
                 "record the outcome of a claimed task",
                 {execution},
                 {version, {"result", "JSON", "what it produced"}},
                 "  semel task complete $ID --version 2 --result '{\"receipt\":\"r-9\"}'\n",
                 complete});
  out.push_back({"task fail",
                 "record a failed attempt",
                 {execution},
                 {version,
                  {"error-name", "NAME", "what went wrong, one word (Error)"},
                  {"error-message", "TEXT", "in words"},
                  {"error-details", "JSON", "anything else"},
                  {"retryable", "BOOL", "false: no more attempts"},
                  {"next-delay", "DURATION", "instead of the backoff"},
                  {"cancelled", "", "it stopped because cancel was requested"}},
                 "  semel task fail $ID --version 2 --error-name CardDeclined --retryable false\n",
                 fail});
  out.push_back({"task release",
                 "give a claimed task back unfinished; the attempt does not count",
                 {execution},
                 {version, {"delay", "DURATION", "not before this much later (0)"}},
                 "  semel task release $ID --version 2\n",
                 release});
}

}  // namespace semel::cli
