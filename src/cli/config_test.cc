#include <gtest/gtest.h>

#include "cli/args.h"
#include "cli/settings.h"

namespace semel::cli {
namespace {

std::string fault_of(std::string_view text, bool world_readable = false) {
  auto parsed = parse_config(text, "semel.toml", world_readable);
  if (parsed) return "accepted";
  EXPECT_EQ(parsed.error().code, ErrorCode::InvalidConfig);
  return parsed.error().message;
}

TEST(Config, ReadsStoreTenantQueuesAndWorker) {
  auto parsed = parse_config(R"(store = "sqlite:app.db"
tenant = "acme"
[queues.payments]
retention = "30d"
rate_limit = "100/sec"
concurrency = 5
concurrency_per_key = 1
dead_letter = true
max_attempts = 4
retry = { initial_interval = "2s", factor = 3.0, non_retryable = ["CardDeclined"] }
[worker]
slots = 4
lease = "10s"
queues = ["payments"]
)",
                             "semel.toml", false);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->store, "sqlite:app.db");
  EXPECT_EQ(parsed->tenant, "acme");
  ASSERT_EQ(parsed->queues.size(), 1u);
  const core::LaneConfig& config = parsed->queues[0].config;
  EXPECT_EQ(config.retention, std::chrono::hours(24 * 30));
  EXPECT_EQ(config.rate_limit->count, 100);
  EXPECT_EQ(config.concurrency, 5);
  EXPECT_EQ(config.concurrency_per_key, 1);
  EXPECT_TRUE(config.dead_letter);
  EXPECT_EQ(config.max_attempts, 4);
  EXPECT_NE(config.retry.find("initial=2000000"), std::string::npos);
  EXPECT_NE(config.retry.find("CardDeclined"), std::string::npos);
  EXPECT_EQ(parsed->worker.slots, 4);
  EXPECT_EQ(parsed->worker.lease, std::chrono::seconds(10));
}

// A25
TEST(Config, EveryFaultNamesItsLine) {
  EXPECT_TRUE(fault_of("store = \"sqlite:a.db\"\ncolour = 3\n").starts_with("semel.toml:2: unknown key \"colour\""));
  EXPECT_TRUE(
      fault_of("[queues.a]\n\nspeed = 3\n").starts_with("semel.toml:3: unknown queue setting \"speed\"; known are "));
  EXPECT_TRUE(fault_of("[queues.a]\n[queues.a]\n").starts_with("semel.toml:2: "));
  EXPECT_TRUE(fault_of("store = 3\n").starts_with("semel.toml:1: store must be a string"));
  EXPECT_TRUE(
      fault_of("[queues.a]\nconcurrency = \"5\"\n").starts_with("semel.toml:2: concurrency must be a whole number"));
  EXPECT_TRUE(
      fault_of("[queues.a]\nretention = 30\n").starts_with("semel.toml:2: retention must be a duration in quotes"));
  EXPECT_TRUE(fault_of("[queues.a]\nretention = \"30 days\"\n").starts_with("semel.toml:2: retention"));
  EXPECT_TRUE(fault_of("[queues.a]\nretention = \"-1d\"\n").starts_with("semel.toml:2: retention"));
  EXPECT_TRUE(fault_of("[queues.a]\nretention = \"99999999999999d\"\n").starts_with("semel.toml:2: retention"));
  EXPECT_TRUE(fault_of("[queues.a]\nrate_limit = \"0/sec\"\n").starts_with("semel.toml:2: rate_limit"));
  EXPECT_TRUE(fault_of("[queues.a]\nconcurrency = 0\n").starts_with("semel.toml:2: concurrency"));
  EXPECT_TRUE(
      fault_of("[queues.a]\ndead_letter = \"yes\"\n").starts_with("semel.toml:2: dead_letter must be true or false"));
  EXPECT_TRUE(fault_of("[worker]\nlease = \"0s\"\n").starts_with("semel.toml:2: "));
  EXPECT_TRUE(fault_of("[worker]\nthreads = 3\n").starts_with("semel.toml:2: unknown key worker.\"threads\""));
  EXPECT_TRUE(fault_of("tenant = \"Not A Slug\"\n").starts_with("semel.toml:1: "));
  EXPECT_TRUE(fault_of("store = \"sqlite:a.db\n").starts_with("semel.toml:1: "));
}

// A25
TEST(Config, WorldReadablePasswordIsRefused) {
  const char* text = "store = \"postgres://semel:secret@db/semel\"\n";
  EXPECT_EQ(fault_of(text, false), "accepted");
  const std::string fault = fault_of(text, true);
  EXPECT_TRUE(fault.starts_with("semel.toml:1: store holds a password")) << fault;
  EXPECT_EQ(fault.find("secret"), std::string::npos);
  EXPECT_EQ(fault_of("store = \"postgres://semel@db/semel\"\n", true), "accepted");
}

TEST(Config, FlagsWinOverEnvironmentWinsOverDefaults) {
  const Environment environment = [](const char* name) -> std::optional<std::string> {
    if (std::string_view(name) == "SEMEL_STORE") return "sqlite:env.db";
    if (std::string_view(name) == "SEMEL_TENANT") return "envtenant";
    return std::nullopt;
  };
  GlobalFlags flags;
  flags.store = "sqlite:flag.db";
  auto settings = resolve_settings(flags, environment);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->store, "sqlite:flag.db");
  EXPECT_EQ(settings->tenant, "envtenant");
}

TEST(Config, PasswordsAreBlottedOut) {
  EXPECT_EQ(without_password("postgres://u:secret@h/d"), "postgres://u:***@h/d");
  EXPECT_EQ(without_password("postgres://h/d?password=secret&x=1"), "postgres://h/d?password=***&x=1");
  EXPECT_EQ(without_password("postgres://u@h:5432/d"), "postgres://u@h:5432/d");
  EXPECT_EQ(without_password("sqlite:a@b:c.db"), "sqlite:a@b:c.db");
}

TEST(QueueFields, NoneUnsetsAndOthersStay) {
  core::LaneConfig config;
  ASSERT_TRUE(set_queue_field(config, "concurrency", "5"));
  ASSERT_TRUE(set_queue_field(config, "rate_limit", "10/min"));
  ASSERT_TRUE(set_queue_field(config, "rate_limit", "none"));
  EXPECT_EQ(config.concurrency, 5);
  EXPECT_FALSE(config.rate_limit);
  const core::LaneConfig before = config;
  EXPECT_FALSE(set_queue_field(config, "concurrency", "99999999999999999999"));
  EXPECT_FALSE(set_queue_field(config, "retry_factor", "0.5"));
  EXPECT_EQ(config, before);
}

}  // namespace
}  // namespace semel::cli
