#include "cli/session.h"

#include <cstdio>
#include <iostream>

#include "cli/table.h"

namespace semel::cli {

Session::~Session() { close(); }

void Session::close() {
  if (runtime_) runtime_->stop();
  runtime_.reset();
}

Result<engine::Runtime*> Session::open(const OpenOptions& store, engine::RuntimeOptions options) {
  if (runtime_) return runtime_.get();
  if (!log_) log_ = base::make_stderr_log(log_level_);
  OpenOptions with_log = store;
  with_log.log = log_.get();
  with_log.unsafe = settings_.unsafe;
  auto opened = open_store(settings_.store, with_log);
  if (!opened) return opened.error();
  options.log = log_;
  auto runtime = engine::Runtime::open(*std::move(opened), std::move(options));
  if (!runtime) return std::move(runtime).error();
  runtime_ = *std::move(runtime);
  return runtime_.get();
}

Result<engine::Runtime*> Session::reader() {
  engine::RuntimeOptions options;
  options.clockwork_runs = false;
  OpenOptions store;
  store.read_only = true;
  return open(store, std::move(options));
}

Result<engine::Runtime*> Session::writer(bool clockwork) {
  engine::RuntimeOptions options;
  options.clockwork_runs = clockwork;
  return open({}, std::move(options));
}

void Session::print(std::string_view body, const std::function<std::string()>& table) const {
  if (json()) {
    std::cout << body << "\n";
  } else {
    std::cout << table();
  }
  std::cout.flush();
}

int Session::bad_usage(std::string_view what) const {
  std::cerr << what << "\nRun with --help for more information.\n";
  return kBadUsage;
}

int Session::fail(const Error& error, Output output) {
  if (output == Output::json) {
    std::cout << error.to_json() << "\n";
    std::cout.flush();
  } else {
    std::cerr << error_info(error.code).name << ": " << plain(error.message) << "\n";
    for (const auto& detail : error.details) std::cerr << "  " << detail.name << ": " << plain(detail.json) << "\n";
  }
  return error.code == ErrorCode::StoreCorrupt ? kDamaged : kRefused;
}

Result<void> apply_queue_defaults(Session& session, engine::Runtime& runtime) {
  for (const auto& defaults : session.settings().queues) {
    auto known = runtime.engine().queue_get(session.tenant(), defaults.queue);
    if (!known && known.error().code != ErrorCode::QueueNotFound) return known.error();
    if (known && !(known->stats.lane.config == core::LaneConfig{})) continue;
    if (defaults.config == core::LaneConfig{}) continue;
    auto set = session.ask<core::Lane>([&](auto done) {
      runtime.engine().queue_set(session.tenant(), defaults.queue, defaults.config, std::move(done));
    });
    if (!set) return set.error();
  }
  return {};
}

}  // namespace semel::cli
