// queue list, get, set, pause, resume; key list, get, release; tenant create, list
#include <limits>

#include "api/json/render.h"
#include "base/duration.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"

namespace semel::cli {
namespace {

std::string count_text(const std::optional<std::int32_t>& count) { return count ? std::to_string(*count) : "-"; }

std::string queue_table(std::span<const engine::QueueView> queues) {
  Table table{"QUEUE",      "READY",       "BLOCKED", "PAUSED",      "RETENTION",
              "RATE LIMIT", "CONCURRENCY", "PER KEY", "DEAD LETTER", "ATTEMPTS"};
  for (const auto& queue : queues) {
    const auto& config = queue.stats.lane.config;
    table.add({queue.stats.lane.queue, std::to_string(queue.stats.ready_count),
               std::to_string(queue.stats.blocked_count), config.paused ? "yes" : "no",
               config.retention ? base::format_duration(*config.retention) : "7d",
               config.rate_limit ? base::format_rate({config.rate_limit->count, config.rate_limit->per}) : "-",
               count_text(config.concurrency), count_text(config.concurrency_per_key),
               config.dead_letter ? "yes" : "no", count_text(config.max_attempts)});
  }
  return table.print();
}

int print_queue(Session& session, const engine::QueueView& queue) {
  session.print(api::queue_json(queue), [&] { return queue_table(std::span(&queue, 1)); });
  return kDone;
}

Result<int> queue_list(Session& session, const Args&) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(queues, runtime->engine().queue_list(session.tenant()));
  session.print(api::queues_json(queues), [&] { return queue_table(queues); });
  return kDone;
}

Result<int> queue_get(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(queue, runtime->engine().queue_get(session.tenant(), args.text("QUEUE")));
  return print_queue(session, queue);
}

// Flags that are settings of a queue, with dashes.
std::vector<Flag> setting_flags() {
  return {{"retention", "DURATION", "how long finished work is kept, 0: not at all"},
          {"rate-limit", "RATE", "e.g. 100/sec, over all workers; none: no limit"},
          {"concurrency", "N", "at most this many at once, over all workers; none: no limit"},
          {"concurrency-per-key", "N", "the same per concurrency_key"},
          {"dead-letter", "BOOL", "attempts used up: dead_lettered instead of failed"},
          {"max-attempts", "N", "attempts of tasks that do not say"},
          {"paused", "BOOL", "nothing is claimed"},
          {"retry-initial-interval", "DURATION", "delay after the first failure (1s)"},
          {"retry-max-interval", "DURATION", "longest delay (60s)"},
          {"retry-factor", "X", "growth of the delay (2)"},
          {"retry-jitter", "X", "random share of the delay (0.1)"},
          {"retry-non-retryable", "NAMES", "errors that end a task at once, e.g. CardDeclined,BadInput"}};
}

Result<int> queue_set(Session& session, const Args& args) {
  const std::string name = args.text("QUEUE");
  core::LaneConfig probe;
  bool any = false;
  const auto apply = [&](core::LaneConfig& config) -> Result<void> {
    for (const auto& flag : setting_flags()) {
      const auto text = args.get(flag.name);
      if (!text) continue;
      any = true;
      std::string field = flag.name;
      for (char& c : field) c = c == '-' ? '_' : c;
      if (auto set = set_queue_field(config, field, *text); !set) return set;
    }
    return {};
  };
  if (auto valid = apply(probe); !valid) return valid.error();
  if (!any) return session.bad_usage("give at least one setting, e.g. --concurrency 5");
  SEMEL_TRY(runtime, session.writer());
  core::LaneConfig config;
  auto known = runtime->engine().queue_get(session.tenant(), name);
  if (known) config = known->stats.lane.config;
  else if (known.error().code != ErrorCode::QueueNotFound) return known.error();
  if (auto set = apply(config); !set) return set.error();
  SEMEL_TRY(lane, session.ask<core::Lane>([&](auto done) {
    runtime->engine().queue_set(session.tenant(), name, config, std::move(done));
  }));
  SEMEL_TRY(queue, runtime->engine().queue_get(session.tenant(), lane.queue));
  return print_queue(session, queue);
}

Result<int> queue_pause(Session& session, const Args& args, bool paused) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(lane, session.ask<core::Lane>([&](auto done) {
    runtime->engine().queue_pause(session.tenant(), args.text("QUEUE"), paused, std::move(done));
  }));
  SEMEL_TRY(queue, runtime->engine().queue_get(session.tenant(), lane.queue));
  return print_queue(session, queue);
}

std::string key_table(std::span<const core::Identity> keys) {
  Table table{"KEY", "TARGET", "KIND", "EXPIRES", ""};
  for (const auto& key : keys) {
    table.add({key.id.key, key.target.to_string(), std::string(to_string(key.target_kind)),
               key.expires_at ? base::format_instant(*key.expires_at) : "while it lives",
               key.tombstone ? "result expired" : ""});
  }
  return table.print();
}

Result<int> key_list(Session& session, const Args& args) {
  SEMEL_TRY(limit, args.integer("limit"));
  const std::int64_t wanted = limit.value_or(50);
  if (wanted < 1 || wanted > 1000) {
    return make_error(ErrorCode::InvalidArgument, "limit must be 1 .. 1000, not " + std::to_string(wanted));
  }
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(keys, runtime->engine().key_list(session.tenant(), args.text("cursor"), static_cast<std::int32_t>(wanted)));
  std::optional<std::string> next;
  if (static_cast<std::int64_t>(keys.size()) == wanted) next = keys.back().id.key;
  session.print(api::keys_json(keys, next), [&] { return key_table(keys); });
  return kDone;
}

Result<int> key_get(Session& session, const Args& args) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(key, runtime->engine().key_get(session.tenant(), args.text("KEY")));
  session.print(api::key_json(key), [&] { return key_table(std::span(&key, 1)); });
  return kDone;
}

Result<int> key_release(Session& session, const Args& args) {
  const std::string key = args.text("KEY");
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::KeyAnswer>([&](auto done) {
    runtime->engine().key_release(session.tenant(), key, args.has("force"), std::move(done));
  }));
  session.print(api::key_released_json(key, answer), [&] { return plain(key) + ": released\n"; });
  return kDone;
}

Result<int> tenant_create(Session& session, const Args& args) {
  const std::string name = args.text("NAME");
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(answer, session.ask<core::TenantAnswer>(
                        [&](auto done) { runtime->engine().tenant_create(name, std::move(done)); }));
  session.print(api::tenant_json(name, answer.created),
                [&] { return name + (answer.created ? ": created\n" : ": exists already\n"); });
  return kDone;
}

Result<int> tenant_list(Session& session, const Args&) {
  SEMEL_TRY(runtime, session.reader());
  SEMEL_TRY(names, runtime->engine().tenant_list());
  session.print(api::tenants_json(names), [&] {
    std::string out;
    for (const auto& name : names) out += name + "\n";
    return out;
  });
  return kDone;
}

}  // namespace

void add_queue_verbs(std::vector<Verb>& out) {
  const Positional queue{"QUEUE", "name of the queue"};
  out.push_back(
      {"queue list", "queues with their settings and how much waits", {}, {}, "  semel queue list\n", queue_list});
  out.push_back({"queue get", "one queue", {queue}, {}, "  semel queue get payments -o json\n", queue_get});
  out.push_back({"queue set",
                 "change settings of a queue; those not named stay, `none` unsets",
                 {queue},
                 setting_flags(),
                 "  semel queue set payments --retention 30d --rate-limit 100/sec --concurrency 5\n"
                 "  semel queue set payments --dead-letter true --max-attempts 5\n"
                 "  semel queue set payments --rate-limit none\n",
                 queue_set});
  out.push_back({"queue pause",
                 "stop claims of a queue; what runs goes on",
                 {queue},
                 {},
                 "  semel queue pause payments\n",
                 [](Session& s, const Args& a) { return queue_pause(s, a, true); }});
  out.push_back({"queue resume",
                 "let a paused queue go on",
                 {queue},
                 {},
                 "  semel queue resume payments\n",
                 [](Session& s, const Args& a) { return queue_pause(s, a, false); }});
  const Positional key{"KEY", "the idempotency key"};
  out.push_back({"key list",
                 "idempotency keys",
                 {},
                 {{"limit", "N", "at most (50)"}, {"cursor", "KEY", "go on after this one"}},
                 "  semel key list\n",
                 key_list});
  out.push_back({"key get", "what a key leads to", {key}, {}, "  semel key get order-7\n", key_get});
  out.push_back({"key release",
                 "free a key; of live work only with --force",
                 {key},
                 {{"force", "", "even while its target is live"}},
                 "  semel key release order-7\n",
                 key_release});
  out.push_back({"tenant create",
                 "a new tenant",
                 {{"NAME", "1..63 of a-z 0-9 - _"}},
                 {},
                 "  semel tenant create acme\n",
                 tenant_create});
  out.push_back({"tenant list", "all tenants", {}, {}, "  semel tenant list\n", tenant_list});
}

}  // namespace semel::cli
