// The source tree as data: files, lines, includes. What the rules of this folder read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace semel::tidy {

struct Include {
  int line = 0;
  std::string target;   // "core/rows.h", "sqlite3.h"
  bool system = false;  // written with angle brackets
};

struct SourceFile {
  std::string path;                // from the root of the tree: "src/core/rows.h"
  std::vector<std::string> lines;  // as written
  std::vector<std::string> code;   // comments and the contents of string literals blanked out, same numbering

  bool is_header() const { return path.ends_with(".h"); }
  bool is_source() const { return path.ends_with(".cc"); }
  bool is_test() const;
  // "base" for src/base/..., "" outside src/.
  std::string_view layer() const;
  std::vector<Include> includes() const;
};

// One finding, printed as "path:line: message".
struct Finding {
  std::string path;
  int line = 0;
  std::string message;
};

SourceFile make_file(std::string path, std::string_view text);

// Every text file of the project: sources, SQL, build files, documents; nothing below build/ or .git/.
const std::vector<SourceFile>& project_tree();

// True when `word` occurs in `line` and is not part of a longer identifier.
bool has_word(std::string_view line, std::string_view word);

std::string print(const std::vector<Finding>& findings);

}  // namespace semel::tidy
