// What one event of a history says, in columns. For timeline.cc.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/requests.h"

namespace semel::cli {

enum class Tone : std::uint8_t { plain, bold, dim, good, bad, warn, asks, hears };

struct EventLine {
  std::string glyph;
  Tone tone = Tone::plain;
  std::string who;     // "#2 step charge": the command it belongs to
  std::string what;    // "completed"
  std::string detail;  // how long it took, or what is known before
  std::string data;    // one line of it
};

// Follows a history from its first event: remembers commands until their outcome comes.
class Teller {
 public:
  explicit Teller(Instant start) : start_(start) {}

  EventLine tell(const engine::HistoryEvent& recorded);
  // Commands without an outcome so far, oldest first.
  std::vector<std::string> open() const;

 private:
  struct Asked {
    std::string noun;
    std::string name;
    Instant at{};
    std::string awaited;  // as `open` prints it
  };
  void remember(const engine::HistoryEvent& recorded, const EventLine& line, std::string noun);
  const Asked* asked(const core::Event& event) const;
  std::string detail_of(const engine::HistoryEvent& recorded) const;

  Instant start_;
  std::map<std::int32_t, Asked> asked_;
  std::map<std::int32_t, const Asked*> open_;
  std::map<std::string, std::string> updates_;  // id -> name
};

}  // namespace semel::cli
