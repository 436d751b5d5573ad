#include "engine/engine.h"

#include "base/json.h"
#include "core/validate.h"
#include "engine/prepare.h"
#include "engine/send.h"

namespace semel::engine {

Engine::Engine(Env env, Writer& writer) : env_(env), writer_(writer), directory_(env.store), waiting_(env.store) {}
Engine::~Engine() = default;

std::string_view to_string(core::DeliveryOutcome outcome) {
  switch (outcome) {
    case core::DeliveryOutcome::claimed:
      return "claimed";
    case core::DeliveryOutcome::already_claimed:
      return "already-claimed";
    case core::DeliveryOutcome::no_op_terminal:
      return "no-op-terminal";
  }
  return "";
}

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::cancel:
      return "cancel";
    case Verb::redrive:
      return "redrive";
    case Verb::discard:
      return "discard";
  }
  return "";
}

// ---- the holder of a claim ------------------------------------------------------------------------------------------

void Engine::heartbeat(HeartbeatRequest request, Callback<core::HeartbeatAnswer> done) {
  if (auto ok = core::validate_lease(request.lease); !ok) return done(ok.error());
  if (request.progress) {
    if (auto ok = core::validate_payload_size("progress", request.progress->size()); !ok) return done(ok.error());
    if (auto ok = base::validate_json(*request.progress); !ok) return done(ok.error());
  }
  send(core::TaskHeartbeat{request.execution, request.version, request.lease, std::move(request.progress)},
       std::move(done));
}

void Engine::complete(CompleteRequest request, Callback<core::EndAnswer> done) {
  if (request.result) {
    if (auto ok = core::validate_payload_size("result", request.result->size()); !ok) return done(ok.error());
    if (request.encoding == core::Encoding::json)
      if (auto ok = base::validate_json(*request.result); !ok)
        return done(make_error(ErrorCode::InvalidArgument, "result: " + ok.error().message));
  }
  send(core::TaskComplete{request.execution, request.version, std::move(request.result)}, std::move(done));
}

void Engine::fail(FailRequest request, Callback<core::EndAnswer> done) {
  if (request.next_delay)
    if (auto ok = core::validate_delay("next_delay", *request.next_delay); !ok) return done(ok.error());
  core::TaskFail operation;
  operation.execution = request.execution;
  operation.version = request.version;
  operation.error_name = core::clip_error_name(request.error_name);
  operation.error = error_json(request.error_name, request.error_message, request.error_details);
  operation.retryable = request.retryable;
  operation.next_delay = request.next_delay;
  operation.cancelled = request.cancelled;
  operation.random_bits = env_.random.next();
  send(std::move(operation), std::move(done));
}

void Engine::release(ReleaseRequest request, Callback<core::EndAnswer> done) {
  if (auto ok = core::validate_delay("delay", request.delay); !ok) return done(ok.error());
  send(core::TaskRelease{request.execution, request.version, request.delay, request.no_handler}, std::move(done));
}

void Engine::session_open(std::string worker, Duration lease, Callback<SessionId> done) {
  if (auto ok = core::validate_id("worker", worker); !ok) return done(ok.error());
  if (auto ok = core::validate_lease(lease); !ok) return done(ok.error());
  const auto session = env_.next_id<SessionId>();
  send<core::SessionOpen, SessionId>(core::SessionOpen{session, std::move(worker), lease}, std::move(done),
                                     [session](core::SessionAnswer) -> Result<SessionId> { return session; });
}

void Engine::session_renew(SessionId session, Duration lease, Callback<Instant> done) {
  if (auto ok = core::validate_lease(lease); !ok) return done(ok.error());
  send<core::SessionRenew, Instant>(core::SessionRenew{session, lease}, std::move(done),
                                    [](core::SessionAnswer answer) -> Result<Instant> { return answer.expires_at; });
}

void Engine::session_close(SessionId session, Callback<Instant> done) {
  send<core::SessionClose, Instant>(core::SessionClose{session}, std::move(done),
                                    [](core::SessionAnswer answer) -> Result<Instant> { return answer.expires_at; });
}

// ---- for the driver -------------------------------------------------------------------------------------------------

void Engine::note_wakes(const store::Wakes& wakes) {
  if (waiting_.note(wakes)) look_wake();
}

void Engine::look_wake() {
  if (wake) wake();
}

Instant Engine::step(Instant now) { return waiting_.step(now); }

void Engine::stop(const Error& why) { waiting_.drop_all(why); }

}  // namespace semel::engine
