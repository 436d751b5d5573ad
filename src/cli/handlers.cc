#include "cli/handlers.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "api/json/render.h"
#include "base/duration.h"
#include "base/json_value.h"

namespace semel::cli {
namespace {

using engine::HandlerOutcome;
using engine::Run;

std::optional<std::string> text_member(const Run& run, std::string_view name) {
  auto document = base::JsonDocument::parse(run.task.payload.args, base::kMaxPayloadDepth);
  if (!document) return std::nullopt;
  const auto value = document->root().find(name);
  return value ? value->as_string() : std::nullopt;
}

HandlerOutcome echo(Run& run) { return HandlerOutcome::success(run.task.payload.args); }

HandlerOutcome sleep(Run& run) {
  const auto text = text_member(run, "for");
  auto duration = base::parse_duration(text.value_or("1s"));
  if (!duration) return HandlerOutcome::failure("InvalidArgument", duration.error().message, false);
  struct Stop {
    std::mutex mutex;
    std::condition_variable changed;
    bool asked = false;
  };
  const auto stop = std::make_shared<Stop>();
  run.on_stop([stop] {
    const std::lock_guard lock(stop->mutex);
    stop->asked = true;
    stop->changed.notify_all();
  });
  std::unique_lock lock(stop->mutex);
  if (!stop->changed.wait_for(lock, *duration, [&] { return stop->asked; })) return echo(run);
  HandlerOutcome outcome;
  outcome.kind = run.cancel_requested() ? HandlerOutcome::Kind::cancelled : HandlerOutcome::Kind::released;
  return outcome;
}

HandlerOutcome fail(Run& run) {
  auto document = base::JsonDocument::parse(run.task.payload.args, base::kMaxPayloadDepth);
  const auto retryable = document ? document->root().find("retryable") : std::nullopt;
  return HandlerOutcome::failure(text_member(run, "name").value_or("Error"),
                                 text_member(run, "message").value_or("asked to fail"),
                                 retryable ? retryable->as_bool().value_or(true) : true);
}

HandlerOutcome crash(Run&) {
  ::kill(::getpid(), SIGKILL);
  return HandlerOutcome::success();
}

}  // namespace

Result<std::shared_ptr<Effects>> Effects::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return make_error(ErrorCode::InvalidArgument, "effects: " + path + ": " + std::strerror(errno));
  return std::shared_ptr<Effects>(new Effects(file));
}

Effects::~Effects() { ::close(file_); }

void Effects::append(const std::string& line) const {
  // O_APPEND writes of this size land whole; the process may be killed right after.
  if (::write(file_, line.data(), line.size()) < 0) std::abort();
}

std::shared_ptr<engine::HandlerTable> builtin_handlers(std::shared_ptr<Effects> effects) {
  auto table = std::make_shared<engine::HandlerTable>();
  table->add("noop", [](Run&) { return HandlerOutcome::success("null"); });
  table->add("echo", echo);
  table->add("sleep", sleep);
  table->add("fail", fail);
  table->add("crash", crash);
  if (effects) {
    table->use([effects](Run& run, const engine::Handler& next) {
      const auto& e = run.task.execution;
      effects->append(api::task_id_of(e) + " " + std::to_string(e.attempt) + " " + e.name + "\n");
      return next(run);
    });
  }
  return table;
}

}  // namespace semel::cli
