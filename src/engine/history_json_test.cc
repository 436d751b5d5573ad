#include "engine/history_json.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace semel::engine {
namespace {

using core::EventKind;

constexpr std::int64_t kStart = 1'772'355'600'250'000;
const ExecutionId kRun = *ExecutionId::parse("018f3c1e-0000-7000-8000-000000000001");

core::Event event(EventKind kind, std::int32_t command = 0, std::string data = {}) {
  core::Event out;
  out.kind = kind;
  out.command = command;
  out.data = std::move(data);
  return out;
}

HistoryDocument document(std::vector<core::Event> events) {
  HistoryDocument out;
  out.workflow_id = "order-7";
  out.run_id = kRun;
  out.name = "checkout";
  out.queue = "payments";
  out.args = R"({ "order" : 9007199254740993 })";
  out.started_at = from_micros(kStart);
  for (auto& one : events) {
    const auto seq = static_cast<std::int32_t>(out.events.size()) + 1;
    out.events.push_back({seq, from_micros(kStart + 12'000 * (seq - 1)), std::move(one)});
  }
  return out;
}

void expect_round_trip(const HistoryDocument& history) {
  const std::string text = history_json(history);
  ASSERT_TRUE(base::validate_json(text, base::kMaxPayloadDepth + 3).ok()) << text;
  const auto back = history_from_json(text);
  ASSERT_TRUE(back.ok()) << back.error().message << "\n" << text;
  EXPECT_EQ(*back, history) << text;
  EXPECT_EQ(history_json(*back), text);
}

TEST(HistoryJson, PrintsWhatIsSetAndNothingElse) {
  core::Event started = event(EventKind::run_started);
  started.at = from_micros(kStart);
  started.name = "checkout";
  core::Event step = event(EventKind::step_scheduled, 1);
  step.name = "charge";
  step.id = "pay-7";
  step.execution = kRun;
  core::Event timer = event(EventKind::timer_started, 2);
  timer.at = from_micros(kStart + 10'000'000);
  core::Event done = event(EventKind::step_completed, 1, R"({ "receipt":"r-9" })");
  done.issued = 2;
  EXPECT_EQ(history_json(document({started, step, timer, done})),
            R"({"workflow_id":"order-7","run_id":"018f3c1e-0000-7000-8000-000000000001","name":"checkout",)"
            R"("queue":"payments","args":{ "order" : 9007199254740993 },"started_at":"2026-03-01T09:00:00.25Z",)"
            R"("events":[{"seq":1,"at":"2026-03-01T09:00:00.25Z","kind":"run_started",)"
            R"("code_at":"2026-03-01T09:00:00.25Z","name":"checkout"},)"
            R"({"seq":2,"at":"2026-03-01T09:00:00.262Z","kind":"step_scheduled","command":1,"name":"charge",)"
            R"("id":"pay-7","execution_id":"018f3c1e-0000-7000-8000-000000000001"},)"
            R"({"seq":3,"at":"2026-03-01T09:00:00.274Z","kind":"timer_started","command":2,)"
            R"("due_at":"2026-03-01T09:00:10.25Z"},)"
            R"({"seq":4,"at":"2026-03-01T09:00:00.286Z","kind":"step_completed","command":1,"issued":2,)"
            R"("data":{ "receipt":"r-9" }}]})");
}

TEST(HistoryJson, EveryKindWithEveryFieldComesBackEqual) {
  std::vector<core::Event> events;
  for (int number = 0; number < 256; ++number) {
    core::Event full = event(static_cast<EventKind>(number), number + 1, "[1.0,\"\\u0000\"]");
    if (to_string(full.kind) == "unknown") continue;
    full.issued = number;
    full.joined = number % 2 == 0;
    full.at = from_micros(kStart + number);
    full.name = "näme \"x\"";
    full.id = "i\\d";
    full.execution = kRun;
    events.push_back(full);
    events.push_back(event(full.kind));
  }
  ASSERT_GT(events.size(), 70u);
  expect_round_trip(document(events));
}

TEST(HistoryJson, BytesThatJsonCannotHoldComeBackEqual) {
  std::string deep(base::kMaxPayloadDepth, '[');
  deep += std::string(base::kMaxPayloadDepth, ']');
  std::vector<core::Event> events;
  for (const std::string& data :
       {std::string("\xff\x00\x01", 3), std::string(" 1"), std::string("1\n"), std::string("{"),
        std::string(R"({"a":1,"a":2})"), std::string("null"), std::string("\"\""), deep, "[" + deep + "]",
        std::string("  "), std::string(R"({"base64":"/w=="})")})
    events.push_back(event(EventKind::local_completed, 1, data));
  events.back().name = "\xc3\x28";
  events.back().id = std::string("\0", 1);
  events.back().command = -7;
  events.back().at = Instant::max();
  events.front().at = Instant::min();
  HistoryDocument history = document(events);
  expect_round_trip(history);
  history.encoding = core::Encoding::opaque;
  for (const std::string args : {"", "{}", " \n", "\xff"}) {
    history.args = args;
    expect_round_trip(history);
  }
}

struct Bad {
  std::string from, to;
  std::string error;
};

TEST(HistoryJson, ErrorsNameTheEventAndTheMember) {
  core::Event done = event(EventKind::step_completed, 1, "7");
  done.execution = kRun;
  const std::string good = history_json(document({event(EventKind::run_started), done}));
  ASSERT_TRUE(history_from_json(good).ok());
  const std::vector<Bad> all = {
      {R"("kind":"step_completed")", R"("kind":"step_finished")", R"(event 2: kind "step_finished" is not known)"},
      {R"("kind":"step_completed",)", "", "event 2: kind is missing"},
      {R"("seq":2)", R"("seq":3)", "event 2: seq must be 2: events are numbered without gaps"},
      {R"("seq":2,)", "", "event 2: seq is missing"},
      {R"("command":1)", R"("command":"1")", "event 2: command must be a whole number of 32 bits"},
      {R"("command":1)", R"("command":4294967296)", "event 2: command must be a whole number of 32 bits"},
      {R"("command":1)", R"("colour":1)", R"(event 2: unknown field "colour")"},
      {R"("command":1)", R"("due_at":"2026-03-01T09:00:00Z")", R"(event 2: unknown field "due_at")"},
      {R"("command":1)", R"("name":null)", "event 2: name must be a string"},
      {R"("data":7)", R"("data_base64":"Zg=")", "event 2: data_base64 must be base64"},
      {R"("data":7)", R"("data":7,"data_base64":"Zg==")", "event 2: data and data_base64 exclude each other"},
      {R"("at":"2026-03-01T09:00:00.262Z")", R"("at":"noon")", "event 2: at must be an instant"},
      {R"("execution_id":"018f3c1e-)", R"("execution_id":"x18f3c1e-)", "event 2: execution_id must be a UUID"},
      {R"("run_id":"018f3c1e-)", R"("run_id":"x18f3c1e-)", "history: run_id must be a UUID"},
      {R"("workflow_id":"order-7",)", "", "history: workflow_id is missing"},
      {R"("queue":)", R"("lane":)", "history: queue is missing"},
      {R"("events":[)", R"("events":7,"x":[)", "history: events must be an array"},
      {R"("events":[)", R"("events":[5,)", "event 1: must be an object, not number"},
      {R"("args")", R"("encoding":"xml","args")", "history: encoding must be json or opaque"},
      {"]}", "", "history: "},
  };
  for (const Bad& bad : all) {
    std::string text = good;
    const std::size_t at = text.find(bad.from);
    ASSERT_NE(at, text.npos) << bad.from;
    text.replace(at, bad.from.size(), bad.to);
    const auto read = history_from_json(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::InvalidArgument);
    EXPECT_TRUE(read.error().message.starts_with(bad.error)) << read.error().message;
  }
}

}  // namespace
}  // namespace semel::engine
