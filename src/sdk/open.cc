#include <utility>
#include <vector>

#include "sdk/callback_thread.h"
#include "sdk/host.h"
#include "sdk/runtime_driver.h"
#include "semel/engine.h"

namespace semel {
namespace {

// The engine's log lines, handed to the program's sink.
class SinkAdapter final : public base::LogSink {
 public:
  explicit SinkAdapter(semel::LogSink sink) : sink_(std::move(sink)) {}
  bool enabled(base::LogLevel) const override { return true; }
  void write(base::LogLevel level, std::string_view message, std::initializer_list<base::LogField> fields) override {
    std::vector<semel::LogField> out;
    for (const auto& field : fields) out.push_back({field.key, field.value});
    sink_(static_cast<semel::LogLevel>(level), message, out);
  }

 private:
  semel::LogSink sink_;
};

// What the program's functions throw ends with them: none of ours knows what to do about it.
void call_logged(const LogSink& log, std::string_view what, const std::function<void()>& call) {
  std::string why = "no std::exception";
  try {
    return call();
  } catch (const std::exception& error) {
    why = error.what();
  } catch (...) {
  }
  const LogField fields[] = {{"error", why}};
  if (log) log(LogLevel::error, std::string(what) + " threw; what it had left to do is lost", fields);
}

LogSink make_log(const Options& options) {
  if (!options.log() || !*options.log()) return {};
  return [log = *options.log()](LogLevel level, std::string_view message, std::span<const LogField> fields) {
    call_logged({}, "", [&] { log(level, message, fields); });
  };
}

// Runs callbacks where the program wants them, or on a thread of our own.
struct Callbacks {
  std::function<void(std::function<void()>)> post;
  std::function<void()> drain;
};

Result<Callbacks> make_callbacks(const Options& options, const LogSink& log) {
  const auto guarded = [log](std::function<void()> call) {
    return [log, call = std::move(call)] { call_logged(log, "a callback", call); };
  };
  if (options.callbacks() && *options.callbacks())
    return Callbacks{[post = *options.callbacks(), guarded, log](std::function<void()> call) {
                       call_logged(log, "the function of Options::callbacks", [&] { post(guarded(std::move(call))); });
                     },
                     nullptr};
  auto thread = sdk::CallbackThread::start();
  if (!thread) return std::move(thread).error();
  return Callbacks{[thread = *thread, guarded](std::function<void()> call) { thread->post(guarded(std::move(call))); },
                   [thread = *thread] { thread->stop(); }};
}

}  // namespace

Result<Engine> Engine::open(std::string_view url, const Options& options) {
  const LogSink sink = make_log(options);
  auto callbacks = make_callbacks(options, sink);
  if (!callbacks) return std::move(callbacks).error();

  engine::RuntimeOptions runtime;
  if (sink) runtime.log = std::make_shared<SinkAdapter>(sink);
  runtime.clockwork_runs = options.housekeeping().value_or(true);
  if (options.max_batch()) {
    if (*options.max_batch() < 1 || *options.max_batch() > 1000) {
      return make_error(ErrorCode::InvalidArgument, "max_batch: not from 1 to 1000");
    }
    runtime.writer.max_batch = static_cast<std::size_t>(*options.max_batch());
  }
  if (options.on_fatal() && *options.on_fatal()) {
    runtime.on_fatal = [post = callbacks->post, call = *options.on_fatal()](const Error& error) {
      post([call, error] { call(error); });
    };
  }

  sdk::OpenParams params;
  if (runtime.log != nullptr) params.log = runtime.log.get();
  auto opened = sdk::open_store(url, params, options.backends());
  if (!opened) return std::move(opened).error();
  auto driver = sdk::make_runtime_driver(*std::move(opened), std::move(runtime));
  if (!driver) return std::move(driver).error();

  sdk::HostOptions host;
  host.tenant = options.tenant().value_or("default");
  host.env = std::make_shared<const sdk::HandlerEnv>(
      sdk::HandlerEnv{sdk::Sealer(options.codec().value_or(nullptr)), sink, callbacks->post});
  host.drain_callbacks = callbacks->drain;
  if (auto known = (*driver)->engine().tenant(host.tenant); !known) return std::move(known).error();
  return Engine(sdk::Host::make(*std::move(driver), std::move(host)));
}

}  // namespace semel
