// The report of the crash explorer, for people.
#include <algorithm>
#include <sstream>

#include "semel/explorer.h"

namespace semel::testing {
namespace {

constexpr std::size_t kShown = 8;       // kinds of differences
constexpr std::size_t kShownFacts = 4;  // of one
constexpr std::size_t kWidest = 300;    // of a value

std::string counted(int count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

std::string cut(const std::string& text) {
  if (text.empty()) return "(nothing)";
  return text.size() <= kWidest ? text : text.substr(0, kWidest) + "...";
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

bool same_facts(const CrashDifference& one, const CrashDifference& other) {
  return std::ranges::equal(one.facts, other.facts, [](const CrashFact& a, const CrashFact& b) {
    return a.what == b.what && a.expected == b.expected && a.actual == b.actual;
  });
}

void print(std::ostream& out, const CrashDifference& difference) {
  out << "\n  ";
  if (difference.point > 0) out << "point " << difference.point << ", ";
  out << difference.where << "\n";
  const std::size_t shown = std::min(difference.facts.size(), kShownFacts);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, difference.facts[i].what.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const CrashFact& fact = difference.facts[i];
    out << "    " << padded(fact.what, width) << "  expected  " << cut(fact.expected) << "\n";
    out << "    " << padded("", width) << "  actual    " << cut(fact.actual) << "\n";
  }
  if (difference.facts.size() > shown) out << "    and " << difference.facts.size() - shown << " more\n";
}

// One cause shows at several places: it is told once.
void print(std::ostream& out, const std::vector<CrashDifference>& differences) {
  std::vector<const CrashDifference*> told;
  for (const auto& difference : differences) {
    if (std::ranges::any_of(told, [&](const auto* one) { return same_facts(*one, difference); })) continue;
    told.push_back(&difference);
    if (told.size() > kShown) continue;
    print(out, difference);
    std::string others;
    for (const auto& other : differences)
      if (&other != &difference && same_facts(other, difference))
        others += (others.empty() ? "" : ", ") + std::to_string(other.point);
    if (!others.empty()) out << "    the same at  " << cut(others) << "\n";
  }
  if (told.size() > kShown) out << "\n  and " << told.size() - kShown << " more of other kinds\n";
}

void print(std::ostream& out, const std::vector<RepeatedCall>& warnings) {
  if (warnings.empty()) return;
  std::size_t width = 0;
  for (const auto& warning : warnings) width = std::max(width, warning.name.size());
  out << "\n  warning: ran more than once for one call and never read the idempotency key\n";
  for (const auto& warning : warnings)
    out << "    " << padded(warning.name, width) << "  " << padded(warning.task ? "task" : "ctx.run", 7) << "  up to "
        << counted(warning.most, "time", "times") << ", in " << counted(warning.worlds, "world", "worlds") << "\n";
  out << "    What it does to the world may happen twice. Hand ctx.idempotency_key() to what it calls, or tell the\n"
         "    explorer that it is repeatable.\n";
}

void print_count(std::ostream& out, const CrashReport& report) {
  out << "  crash points     " << report.points << ": " << counted(report.turns, "turn", "turns") << ", "
      << counted(report.bodies, "body", "bodies") << " of ctx.run, " << counted(report.attempts, "attempt", "attempts")
      << " of tasks\n";
  out << "  visited          ";
  if (report.visited == report.points) out << "all\n";
  else out << report.visited << " (seed " << report.seed << ")\n";
}

}  // namespace

std::string CrashReport::text() const {
  std::ostringstream out;
  out << "crash explorer: " << workflow << "\n";
  out << "  without a crash  " << cut(outcome) << "\n";
  print_count(out, *this);
  const auto crashed = std::ranges::count_if(differences, [](const auto& one) { return one.point > 0; });
  out << "  same outcome     " << visited - crashed << "\n";
  if (!ok()) out << "  DIFFERENT        " << differences.size() << "\n";
  print(out, differences);
  print(out, warnings);
  return out.str();
}

std::ostream& operator<<(std::ostream& out, const CrashReport& report) { return out << report.text(); }

}  // namespace semel::testing
