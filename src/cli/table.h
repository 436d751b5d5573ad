// Tables for people: columns as wide as their widest cell.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace semel::cli {

class Table {
 public:
  explicit Table(std::initializer_list<std::string> titles) : rows_{titles} {}
  // Control characters of a cell are made visible: a stored name cannot move the cursor of the one who looks at it.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// `name: value` lines, aligned.
class Lines {
 public:
  Lines& add(std::string name, std::string value);
  Lines& add_if(std::string name, std::string value);  // nothing when the value is empty
  std::string print() const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Text from the store, safe on a terminal.
std::string plain(std::string_view text);

// Characters, not bytes.
std::size_t width_of(std::string_view text);
// At most `width` characters; what was longer ends in an ellipsis.
std::string cut(const std::string& text, std::size_t width);

}  // namespace semel::cli
