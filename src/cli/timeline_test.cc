#include "cli/timeline.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace semel::cli {
namespace {

using core::EventKind;
using std::chrono_literals::operator""ms;

constexpr Instant kStart = from_micros(1'772'355'600'250'000);
const ExecutionId kRun = *ExecutionId::parse("018f3c1e-0000-7000-8000-000000000001");
const ExecutionId kStep = *ExecutionId::parse("018f3c1e-0000-7000-8000-000000000002");

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() {
    auto& e = run.execution.execution;
    e.id = kRun;
    e.kind = Kind::workflow;
    e.name = "checkout";
    e.identity = "order-7";
    e.status = Status::suspended;
    e.created_at = kStart;
    run.execution.queue = "default";
    run.execution.payload.args = R"({"order":7})";
    add(0ms, EventKind::run_started).name = "checkout";
  }
  core::Event& add(std::chrono::milliseconds at, EventKind kind, std::int32_t command = 0, std::string data = {}) {
    core::Event event;
    event.kind = kind;
    event.command = command;
    event.data = std::move(data);
    events.push_back({static_cast<std::int32_t>(events.size()) + 1, kStart + at, event});
    return events.back().event;
  }
  void add_step(std::chrono::milliseconds at, std::int32_t command) {
    core::Event& event = add(at, EventKind::step_scheduled, command);
    event.name = "charge";
    event.id = "pay-7";
    event.execution = kStep;
  }
  std::string print(TimelineStyle style = {}) { return timeline(run, events, style); }

  engine::RunView run;
  std::vector<engine::HistoryEvent> events;
};

void no_line_ends_in_a_space(const std::string& text) {
  EXPECT_EQ(text.find(" \n"), text.npos) << text;
  EXPECT_EQ(text.back(), '\n');
}

TEST_F(TimelineTest, PairsCommandsWithTheirOutcomes) {
  add(12ms, EventKind::local_completed, 1, "42").name = "price";
  add_step(12ms, 2);
  add(12ms, EventKind::timer_started, 3).at = kStart + std::chrono::seconds(10);
  core::Event& child = add(13ms, EventKind::child_started, 4);
  child.name = "ship";
  child.id = "order-7:4";
  add(410ms, EventKind::step_completed, 2, "{\n  \"receipt\": \"r-9\"\n}");
  core::Event& approve = add(500ms, EventKind::signal_received, 0, R"({"by":"kim"})");
  approve.name = "approve";
  approve.id = "d-1";
  add(501ms, EventKind::timer_cancelled, 3);
  core::Event& sent = add(502ms, EventKind::signal_sent, 5, "true");
  sent.name = "paid";
  sent.id = "ledger";
  add(503ms, EventKind::step_completed, 5);
  add(600ms, EventKind::state_set, 0, R"("shipping")");
  add(61'503ms, EventKind::child_failed, 4, R"({"name":"NoCarrier","message":"nobody drives there","details":null})");
  add(61'504ms, EventKind::timer_started, 6).at = kStart + std::chrono::hours(30);
  run.unread_count = 2;
  EXPECT_EQ(print(), R"(checkout  order-7  run 018f3c1e-0000-7000-8000-000000000001  suspended  13 events over 1m01.504s

 1     +0.000s  ▶  run             started                   {"order":7}
 2     +0.012s  ✓  #1 local price  completed                 42
 3     +0.012s  →  #2 step charge  scheduled  pay-7
 4     +0.012s  →  #3 timer        started    due +10.000s
 5     +0.013s  →  #4 child ship   started    order-7:4
 6     +0.410s  ✓  #2 step charge  completed  0.398s         { "receipt": "r-9" }
 7     +0.500s  ✉  signal approve  received   d-1            {"by":"kim"}
 8     +0.501s  ○  #3 timer        cancelled  0.489s
 9     +0.502s  →  #5 signal paid  sent       to ledger      true
10     +0.503s  ✓  #5 signal paid  completed  0.001s
11     +0.600s  •  state           set                       "shipping"
12  +1m01.503s  ✗  #4 child ship   failed     1m01.490s      NoCarrier: nobody drives there
13  +1m01.504s  →  #6 timer        started    due +1d06h00m

waits for  #6 timer due +1d06h00m
unread     2 in its mailbox
)");
  no_line_ends_in_a_space(print());
}

TEST_F(TimelineTest, TheDocumentsShowWhatItDraws) {
  add(12ms, EventKind::local_completed, 1, "42").name = "price";
  add_step(12ms, 2);
  add(12ms, EventKind::timer_started, 3).at = kStart + std::chrono::seconds(10);
  add(410ms, EventKind::step_completed, 2, R"({"receipt":"r-9"})");
  core::Event& approve = add(500ms, EventKind::signal_received, 0, R"({"by":"kim"})");
  approve.name = "approve";
  approve.id = "mail-81";
  core::Event& child = add(501ms, EventKind::child_started, 4);
  child.name = "ship";
  child.id = "ship-7";
  std::ifstream file(std::string(SEMEL_SOURCE_DIR) + "/docs/cli.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_NE(page.str().find("```text\n" + print() + "```\n"), std::string::npos) << print();
}

TEST_F(TimelineTest, ARunThatIsOverWaitsForNothing) {
  run.execution.execution.status = Status::cancelled;
  run.execution.execution.close_reason = core::CloseReason::terminated;
  add_step(5ms, 1);
  add(2500ms, EventKind::run_terminated);
  EXPECT_EQ(print(),
            R"(checkout  order-7  run 018f3c1e-0000-7000-8000-000000000001  cancelled (terminated)  3 events over 2.500s

1  +0.000s  ▶  run             started             {"order":7}
2  +0.005s  →  #1 step charge  scheduled   pay-7
3  +2.500s  ✗  run             terminated  2.500s
)");
}

TEST_F(TimelineTest, AQueuedRunWaitsForAWorker) {
  run.execution.execution.status = Status::queued;
  EXPECT_TRUE(print().ends_with("\n\nwaits for  a worker of queue default\n")) << print();
}

TEST_F(TimelineTest, DataIsCutToTheWidth) {
  add(1ms, EventKind::local_completed, 1, "\"" + std::string(5000, 'x') + "\"").name = "long";
  add(1ms, EventKind::local_completed, 2, R"("äöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöüäöü")").name = "wide";
  const std::string text = print({60, false, false});
  EXPECT_NE(text.find("\n2  +0.001s  ✓  #1 local long  completed  \"xxxxxxxxxxxxxxxxx…\n"), text.npos) << text;
  EXPECT_NE(text.find("\n3  +0.001s  ✓  #2 local wide  completed  \"äöüäöüäöüäöüäöüäö…\n"), text.npos) << text;
}

TEST_F(TimelineTest, FullShowsEverythingBelowTheEvent) {
  add_step(12ms, 1);
  add(20ms, EventKind::step_completed, 1, "{\n  \"text\": \"" + std::string(200, 'x') + "\"\n}").execution = kStep;
  const std::string text = print({60, false, true});
  EXPECT_NE(text.find("2  +0.012s  →  #1 step charge  scheduled  pay-7\n"
                      "               execution 018f3c1e-0000-7000-8000-000000000002\n"
                      "               id pay-7\n"
                      "3  +0.020s  ✓  #1 step charge  completed  0.008s\n"
                      "               execution 018f3c1e-0000-7000-8000-000000000002\n"
                      "               {\n"
                      "                 \"text\": \"" +
                      std::string(200, 'x') + "\"\n               }\n"),
            text.npos)
      << text;
  no_line_ends_in_a_space(text);
}

TEST_F(TimelineTest, ColourIsOnlyThereWhenAskedFor) {
  add_step(12ms, 1);
  add(20ms, EventKind::step_failed, 1, "7");
  EXPECT_EQ(print().find('\x1b'), std::string::npos);
  const std::string text = print({120, true, false});
  EXPECT_NE(text.find("\x1b[31m✗\x1b[0m"), text.npos) << text;
  no_line_ends_in_a_space(text);
}

TEST_F(TimelineTest, StoredTextCannotMoveTheCursor) {
  run.execution.execution.name = "a\x1b[2J";
  add(1ms, EventKind::local_completed, 1, "\x1b[31m\xff").name = "b\x1b";
  const std::string text = print();
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_NE(text.find("local b\\x1b"), text.npos) << text;
}

TEST_F(TimelineTest, EveryKindIsDrawn) {
  for (int number = 2; number < 256; ++number) {
    const auto kind = static_cast<EventKind>(number);
    if (to_string(kind) != "unknown") add(std::chrono::milliseconds(number), kind, number, "{}").id = "i";
  }
  const std::string text = print();
  EXPECT_EQ(text.find("  ?  "), text.npos) << text;
  no_line_ends_in_a_space(text);
}

TEST(Elapsed, GrowsItsUnits) {
  EXPECT_EQ(elapsed(Duration{0}), "0.000s");
  EXPECT_EQ(elapsed(Duration{999}), "0.000s");
  EXPECT_EQ(elapsed(Duration{59'999'999}), "59.999s");
  EXPECT_EQ(elapsed(Duration{60'000'000}), "1m00.000s");
  EXPECT_EQ(elapsed(std::chrono::hours(1)), "1h00m00s");
  EXPECT_EQ(elapsed(std::chrono::hours(24 * 400)), "400d00h00m");
  EXPECT_EQ(elapsed(Duration::min()), elapsed(Duration::max()));
}

}  // namespace
}  // namespace semel::cli
