// What the writer keeps of an operation, and what one stepping thread works on. For the writer's own sources.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/writer.h"

namespace semel::engine {

// Callers of submit_all share one of these: the last answer calls back.
struct Writer::Group {
  std::vector<core::Answer> answers;
  std::atomic<std::size_t> left{0};
  DoneAll done;
};

struct Writer::Item {
  core::Operation operation;
  Done done;
  std::shared_ptr<Group> group;
  std::size_t index = 0;
  std::size_t bytes = 0;
  Duration since{};  // monotonic: when it was submitted
  bool internal = false;
  bool rider = false;
  std::uint64_t history = 0;         // of the store, in which its numbers were read
  std::optional<std::size_t> stray;  // line_key of one that is not on its own line
};

// What one stepping thread works on.
struct Writer::Line {
  Line(store::Store& owner, std::size_t number) : store(owner), index(number) {}
  store::Store& store;
  const std::size_t index;
  // Of the writer's mutex:
  Items incoming;
  std::size_t head = 0;  // taken up to here
  std::size_t bytes = 0;
  std::size_t queued() const { return incoming.size() - head; }
  // Of the thread that steps:
  Items current;              // the batch under way; kept until its outcome is known
  std::deque<Items> pending;  // halves of a batch that raised; before anything new
  store::Batch batch;
  std::vector<std::function<void()>> soon;  // of the riders of this batch
  int tries = 0;
  int away = 0;          // times in a row that the store could not be reached
  bool unknown = false;  // an apply of this batch may have committed
  Instant unknown_since{};
  Instant retry_at{};
  Instant last_now{};
};

}  // namespace semel::engine
