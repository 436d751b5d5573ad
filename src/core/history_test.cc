#include "core/history.h"

#include <gtest/gtest.h>

#include <set>

#include "base/wire.h"

namespace semel::core {
namespace {

Event full_event() {
  Event event;
  event.kind = EventKind::step_completed;
  event.command = 300;
  event.issued = 12;
  event.at = Instant{Duration{-5}};
  event.name = "charge";
  event.id = "pay-1";
  event.execution = ExecutionId::parse("019ca8a0-3e80-7003-a104-468540e49192");
  event.data = std::string("\0{}", 3);
  return event;
}

TEST(History, AnEventComesBackAsItWas) {
  const Event event = full_event();
  EXPECT_EQ(decode_event(encode_event(event)).value(), event);
  Event bare;
  bare.kind = EventKind::run_completed;
  EXPECT_EQ(decode_event(encode_event(bare)).value(), bare);
}

TEST(History, SeveralEventsLieInOneRow) {
  std::string row;
  Event other;
  other.kind = EventKind::timer_fired;
  append_event(row, encode_event(full_event()));
  append_event(row, encode_event(other));
  EXPECT_EQ(decode_events(row).value(), (std::vector{full_event(), other}));
  EXPECT_TRUE(decode_events("").value().empty());
}

TEST(History, FieldsOfALaterVersionAreSkipped) {
  std::string bytes = encode_event(full_event());
  base::WireWriter(bytes).number(900, 7).bytes(901, "new");
  EXPECT_EQ(decode_event(bytes).value(), full_event());
}

TEST(History, DamageIsNoticedAndNeverRead) {
  const std::string bytes = encode_event(full_event());
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto read = decode_event(bytes.substr(0, cut));
    EXPECT_TRUE(!read.ok() || *read != full_event()) << cut;
  }
  std::string row;
  append_event(row, bytes);
  for (std::size_t cut = 1; cut < row.size(); ++cut) EXPECT_FALSE(decode_events(row.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(decode_events(std::string(12, '\xff')).ok());
}

TEST(History, EveryKindHasItsOwnWord) {
  std::set<std::string_view> words;
  for (int number = 0; number < 256; ++number) {
    const auto kind = static_cast<EventKind>(number);
    const std::string_view word = to_string(kind);
    if (word == "unknown") continue;
    EXPECT_TRUE(words.insert(word).second) << word;
    EXPECT_EQ(event_kind_from_string(word), kind);
    EXPECT_FALSE(is_input(kind) && is_command(kind)) << word;
  }
  EXPECT_EQ(words.size(), 39u);
  EXPECT_FALSE(event_kind_from_string("unknown"));
}

}  // namespace
}  // namespace semel::core
