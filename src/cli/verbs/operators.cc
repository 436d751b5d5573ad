// task cancel, redrive, discard: one execution, or all that match a filter
#include "api/json/render.h"
#include "cli/table.h"
#include "cli/verbs/read_args.h"
#include "cli/verbs/verbs.h"

namespace semel::cli {
namespace {

using engine::BulkItem;

Result<int> bulk(Session& session, const Args& args, engine::Verb verb) {
  const bool dry_run = args.has("dry-run");
  SEMEL_TRY(runtime, dry_run ? session.reader() : session.writer());
  SEMEL_TRY(filter, filter_of(session, *runtime, args));
  filter.limit = 1000;
  std::vector<BulkItem> items;
  for (;;) {
    SEMEL_TRY(page, session.ask<engine::BulkPage>(
                        [&](auto done) { runtime->engine().bulk({verb, filter, dry_run}, std::move(done)); }));
    items.insert(items.end(), page.items.begin(), page.items.end());
    if (!page.next) break;
    filter.before = page.next;
  }
  session.print(api::bulk_json(verb, dry_run, items), [&] {
    Table table{"EXECUTION", dry_run ? "WOULD" : "DONE", ""};
    for (const auto& item : items) {
      table.add({item.execution.to_string(), std::string(engine::to_string(verb)),
                 item.error       ? item.error->message
                 : item.successor ? "-> " + item.successor->to_string()
                                  : ""});
    }
    return table.print() + std::to_string(items.size()) + (dry_run ? " would be changed; nothing was\n" : " done\n");
  });
  return kDone;
}

Result<int> one(Session& session, const Args& args, engine::Verb verb) {
  SEMEL_TRY(runtime, session.writer());
  SEMEL_TRY(view, addressed(session, *runtime, args));
  const ExecutionId id = view.execution.id;
  auto& engine = runtime->engine();
  switch (verb) {
    case engine::Verb::cancel: {
      SEMEL_TRY(answer, session.ask<core::CancelAnswer>(
                            [&](auto done) { engine.cancel(session.tenant(), id, std::move(done)); }));
      session.print(api::cancel_json(id, answer), [&] {
        return id.to_string() + (answer.requested ? ": asked to stop; its worker learns it with the next heartbeat\n"
                                                  : ": " + std::string(to_string(answer.status)) + "\n");
      });
      return kDone;
    }
    case engine::Verb::redrive: {
      SEMEL_TRY(answer, session.ask<core::RedriveAnswer>(
                            [&](auto done) { engine.redrive(session.tenant(), id, std::move(done)); }));
      session.print(api::redrive_json(id, answer), [&] {
        return id.to_string() + (answer.created ? ": runs again as " : ": runs already as ") +
               answer.successor.to_string() + "\n";
      });
      return kDone;
    }
    case engine::Verb::discard: {
      SEMEL_TRY(answer, session.ask<core::DiscardAnswer>(
                            [&](auto done) { engine.discard(session.tenant(), id, std::move(done)); }));
      session.print(api::discard_json(id, answer), [&] {
        return id.to_string() + (answer.discarded ? ": discarded, its id is free\n" : ": was discarded before\n");
      });
      return kDone;
    }
  }
  return kDone;
}

Verb make(engine::Verb verb, std::string help, std::string examples) {
  std::vector<Flag> flags = {{"task-id", "ID", "the newest execution of this id"},
                             {"all", "", "every execution that matches the filter"},
                             {"dry-run", "", "with --all: only say which ones"}};
  for (auto& flag : filter_flags()) flags.push_back(flag);
  flags.push_back({"kind", "WORD", "only task or only workflow"});
  const std::string name(engine::to_string(verb));
  const auto run = [verb](Session& session, const Args& args) -> Result<int> {
    if (args.has("all")) {
      if (args.has("EXECUTION_ID")) return session.bad_usage("give an EXECUTION_ID or --all, not both");
      return bulk(session, args, verb);
    }
    if (args.has("dry-run")) return session.bad_usage("--dry-run goes with --all");
    if (!is_addressed(args)) return session.bad_usage("give an EXECUTION_ID, --task-id ID, or --all with a filter");
    return one(session, args, verb);
  };
  return {"task " + name, std::move(help), {{"EXECUTION_ID", "the execution", false}}, flags, std::move(examples), run};
}

}  // namespace

void add_operator_verbs(std::vector<Verb>& out) {
  out.push_back(make(engine::Verb::cancel, "end what waits, ask what runs to stop",
                     "  semel task cancel --task-id pay-1\n"
                     "  semel task cancel --all --queue payments --status queued --dry-run\n"));
  out.push_back(make(engine::Verb::redrive, "run failed or dead-lettered work again, as a new linked execution",
                     "  semel task redrive --all --queue payments --status dead_lettered\n"));
  out.push_back(make(engine::Verb::discard, "give up a dead letter: its id and keys are free again",
                     "  semel task discard --task-id pay-1\n"));
}

}  // namespace semel::cli
