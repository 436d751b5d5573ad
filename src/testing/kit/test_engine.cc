#include <algorithm>
#include <utility>

#include "sdk/host.h"
#include "testing/kit/kit.h"

namespace semel::testing {
namespace {

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

}  // namespace

TestEngine::TestEngine(const TestOptions& options) : impl_(std::make_unique<Impl>()) {
  const Options chosen = options.engine().value_or(Options());
  const semel::LogSink sink = chosen.log().value_or(semel::LogSink());
  auto driver = std::make_unique<SteppedDriver>(options.seed().value_or(1), options.start().value_or(kTestStart),
                                                sink ? std::make_shared<SinkAdapter>(sink) : nullptr,
                                                options.cleanup().value_or(true));
  impl_->driver = driver.get();
  sdk::HostOptions host;
  host.tenant = chosen.tenant().value_or("default");
  host.env = std::make_shared<const sdk::HandlerEnv>(
      sdk::HandlerEnv{sdk::Sealer(chosen.codec().value_or(nullptr)), sink,
                      [posted = driver->posted()](std::function<void()> call) { posted->push_back(std::move(call)); },
                      [driver = driver.get()](const engine::Run& run) {
                        if (driver->witness != nullptr) driver->witness->key_read(run.task.execution);
                      }});
  impl_->env = host.env;
  const std::string tenant = host.tenant;
  impl_->engine.emplace(std::make_shared<sdk::Host>(std::move(driver), std::move(host)));
  impl_->engine->create_tenant(tenant).value();
}

TestEngine::~TestEngine() = default;

Engine& TestEngine::engine() { return *impl_->engine; }
Instant TestEngine::now() const { return impl_->driver->now(); }

int TestEngine::run_until_idle() {
  const int before = impl_->driver->attempts;
  impl_->driver->run_until_idle();
  return impl_->driver->attempts - before;
}

int TestEngine::advance(Duration by) { return advance_to(add_saturated(now(), by)); }

int TestEngine::advance_to(Instant at) {
  const int before = impl_->driver->attempts;
  impl_->driver->advance_to(at);
  return impl_->driver->attempts - before;
}

bool TestEngine::advance_to_next() {
  run_until_idle();
  const auto next = impl_->driver->next_event();
  if (!next) return false;
  advance_to(*next);
  return true;
}

void TestEngine::fail_next(std::string_view task, int count, std::string_view error_name, bool retryable) {
  for (int i = 0; i < count; ++i) {
    impl_->driver->faults[std::string(task)].push_back(
        {Fault::Kind::fail,
         engine::HandlerOutcome::failure(std::string(error_name), "injected by the test", retryable)});
  }
}

void TestEngine::crash_next(std::string_view task, Crash when) {
  const auto kind = when == Crash::before_function ? Fault::Kind::crash_before : Fault::Kind::crash_after;
  impl_->driver->faults[std::string(task)].push_back({kind, {}});
}

void TestEngine::stub_raw(std::string task, RawHandler handler) {
  static const auto& kNoMiddleware = *new auto(std::make_shared<const std::vector<Middleware>>());
  impl_->driver->stub(task, sdk::make_handler(impl_->env, std::move(handler), kNoMiddleware));
}

int TestEngine::calls(std::string_view task) const {
  const auto it = impl_->driver->calls.find(std::string(task));
  return it == impl_->driver->calls.end() ? 0 : it->second;
}

std::vector<Execution> TestEngine::executions() {
  std::vector<Execution> out;
  ExecutionQuery query;
  query.limit = 1000;
  while (true) {
    auto page = engine().list(query).value();
    if (page.empty()) break;
    query.before = page.back().execution_id;
    std::ranges::move(page, std::back_inserter(out));
  }
  std::ranges::reverse(out);
  return out;
}

std::string TestEngine::snapshot() { return impl_->driver->store().snapshot().value(); }
std::vector<std::string> TestEngine::verify() { return impl_->driver->store().verify().value(); }

}  // namespace semel::testing
