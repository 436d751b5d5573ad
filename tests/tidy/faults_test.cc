// docs/faults.md is complete, and what it names exists.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <vector>

#include "tests/tidy/tree.h"

namespace semel::tidy {
namespace {

constexpr const char* kPage = "docs/faults.md";

// Case ids are stable: numbers that are missing were never given.
const std::map<char, std::vector<int>> kCases = {
    {'D', {1, 2, 3, 4, 6, 7, 8, 9, 10, 12, 14, 15, 16, 17, 18, 19, 20, 22, 23, 24}},
    {'C', {1, 2, 3, 4, 6, 7, 9, 10, 12, 13, 14, 15, 16, 17, 18, 19, 20}},
    {'R', {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
    {'K', {1, 2, 3, 4, 5, 6}},
    {'W', {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 20, 21}},
    {'X', {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 18, 21, 24}},
    {'F', {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}},
};

const SourceFile* find(const std::string& path) {
  const auto& tree = project_tree();
  const auto it = std::ranges::find(tree, path, &SourceFile::path);
  return it == tree.end() ? nullptr : &*it;
}

bool has_test(const SourceFile& file, const std::string& suite, const std::string& name) {
  std::string text;
  for (const auto& line : file.code) text += line + " ";
  return std::regex_search(text, std::regex("TEST(_P|_F)?\\(\\s*" + suite + "\\s*,\\s*" + name + "\\s*\\)"));
}

bool names_case(const SourceFile& file, const std::string& id) {
  return std::ranges::any_of(file.lines, [&](const auto& line) { return has_word(line, id); });
}

struct Reference {
  std::string path, suite, test;
};
std::vector<Reference> references(const std::string& line) {
  static const std::regex kReference("`([^`: ]+): ([A-Za-z0-9_]+)\\.([A-Za-z0-9_]+)`");
  std::vector<Reference> out;
  for (std::sregex_iterator it(line.begin(), line.end(), kReference), end; it != end; ++it)
    out.push_back({(*it)[1], (*it)[2], (*it)[3]});
  return out;
}

TEST(Faults, EveryCaseIsInTheTableWithATestOrAReason) {
  const SourceFile* page = find(kPage);
  ASSERT_NE(nullptr, page);
  for (const auto& [group, numbers] : kCases)
    for (const int number : numbers) {
      const std::string id = group + std::to_string(number);
      const auto row =
          std::ranges::find_if(page->lines, [&](const auto& line) { return line.starts_with("| " + id + " |"); });
      ASSERT_NE(page->lines.end(), row) << id << " is missing";
      const bool reason = row->find("Does not apply") != std::string::npos || row->find("Not yet") != std::string::npos;
      EXPECT_TRUE(reason || !references(*row).empty()) << id << " names no test and no reason";
    }
}

TEST(Faults, EveryTestNamedExistsAndNamesItsCase) {
  const SourceFile* page = find(kPage);
  ASSERT_NE(nullptr, page);
  int checked = 0;
  for (const auto& line : page->lines)
    for (const auto& [path, suite, test] : references(line)) {
      ++checked;
      const SourceFile* file = find(path);
      ASSERT_NE(nullptr, file) << path << " does not exist";
      EXPECT_TRUE(has_test(*file, suite, test)) << path << " has no test " << suite << "." << test;
      const std::string id = line.substr(2, line.find(' ', 2) - 2);
      const bool is_case = id.size() < 4 && kCases.count(id.front()) != 0;
      if (is_case) EXPECT_TRUE(names_case(*file, id)) << path << " does not name " << id << " in a comment";
    }
  EXPECT_GT(checked, 60);
}

}  // namespace
}  // namespace semel::tidy
