// What the documents show is run and compared: every `$` line of a console block, in order, in one folder per document.
// Ids, instants and process numbers are compared by shape. A toml block is the semel.toml of what follows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "tests/e2e/program.h"

namespace semel::e2e {
namespace {

struct Step {
  int line = 0;
  std::string command;  // empty: write `text` to semel.toml
  std::string text;
};

std::vector<Step> steps_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<Step> out;
  std::string kind;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.starts_with("```")) {
      kind = kind.empty() ? line.substr(3) : "";
      if (kind == "toml") out.push_back({number, "", ""});
      continue;
    }
    if (kind == "toml") {
      out.back().text += line + "\n";
    } else if (kind == "console" && line.starts_with("$ ")) {
      out.push_back({number, line.substr(2), ""});
    } else if (kind == "console" && !out.empty() && out.back().command.ends_with("\\")) {
      out.back().command.pop_back();
      out.back().command += line;
    } else if (kind == "console" && !out.empty()) {
      out.back().text += line + "\n";
    }
  }
  return out;
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t uuid_at(const std::string& text, std::size_t at) {
  if (at + 36 > text.size()) return 0;
  for (std::size_t i = 0; i < 36; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[at + i] != '-' : !is_hex(text[at + i])) return 0;
  }
  return 36;
}

std::size_t instant_at(const std::string& text, std::size_t at) {
  constexpr std::string_view kShape = "dddd-dd-ddTdd:dd:dd";
  if (at + kShape.size() > text.size()) return 0;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? !is_digit(text[at + i]) : text[at + i] != kShape[i]) return 0;
  }
  std::size_t end = at + kShape.size();
  while (end < text.size() && (text[end] == '.' || is_digit(text[end]))) ++end;
  return end < text.size() && text[end] == 'Z' ? end + 1 - at : 0;
}

// A time that passed: 0.012s
std::size_t span_at(const std::string& text, std::size_t at) {
  std::size_t point = at;
  while (point < text.size() && is_digit(text[point])) ++point;
  if (point == at || point + 5 > text.size() || text[point] != '.' || text[point + 4] != 's') return 0;
  const auto fraction = text.begin() + static_cast<std::ptrdiff_t>(point) + 1;
  return std::all_of(fraction, fraction + 3, is_digit) ? point + 5 - at : 0;
}

// Ids become UUID, instants TIME, times that passed SPAN, runs of spaces one space.
std::string by_shape(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t uuid = uuid_at(text, i)) {
      out += "UUID";
      i += uuid;
    } else if (const std::size_t instant = instant_at(text, i)) {
      out += "TIME";
      i += instant;
    } else if (const std::size_t span = span_at(text, i)) {
      out += "SPAN";
      i += span;
    } else {
      if (text[i] != ' ' || out.empty() || out.back() != ' ') out += text[i];
      ++i;
    }
  }
  return out;
}

void run_document(const std::string& name) {
  const std::vector<Step> steps = steps_of(std::string(SEMEL_SOURCE_DIR) + "/docs/" + name);
  ASSERT_GT(steps.size(), 3u) << name;
  const Place place;
  for (const Step& step : steps) {
    if (step.command.empty()) {
      place.write("semel.toml", step.text);
      continue;
    }
    const Ran ran = place.shell(step.command);
    EXPECT_EQ(by_shape(ran.out + ran.err), by_shape(step.text))
        << "docs/" << name << ":" << step.line << ": " << step.command;
  }
}

TEST(Docs, CommandLinePageShowsWhatHappens) { run_document("cli.md"); }
TEST(Docs, ConfigurationPageShowsWhatHappens) { run_document("configuration.md"); }

}  // namespace
}  // namespace semel::e2e
