#include "core/precondition.h"

#include <array>
#include <string>

namespace semel::core {
namespace {

constexpr std::array<std::string_view, 5> kWords = {"missing", "concurrent-claim", "already-completed",
                                                    "unexpected-terminal", "unexpected-nonterminal"};

}  // namespace

std::string_view to_string(Precondition value) { return kWords[static_cast<std::size_t>(value)]; }

void add_precondition(Error& error, Precondition value) {
  error.details.push_back({"precondition", '"' + std::string(to_string(value)) + '"'});
}

std::optional<Precondition> precondition_of(const Error& error) {
  for (const ErrorDetail& detail : error.details) {
    if (detail.name != "precondition") continue;
    for (std::size_t i = 0; i < kWords.size(); ++i)
      if (detail.json.size() == kWords[i].size() + 2 && detail.json.compare(1, kWords[i].size(), kWords[i]) == 0)
        return static_cast<Precondition>(i);
  }
  return std::nullopt;
}

}  // namespace semel::core
