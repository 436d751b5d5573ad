#include "tests/tidy/tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace semel::tidy {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 12> kTextSuffixes = {".h",    ".cc",   ".sql", ".cmake", ".md", ".txt",
                                                            ".json", ".toml", ".sh",  ".yml",   ".in", ".pc"};

bool identifier_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Blanks comments and string contents so that rules about code do not read prose.
class Stripper {
 public:
  std::string strip(std::string_view line) {
    std::string out;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string_view rest = line.substr(i);
      if (in_block_) {
        if (rest.starts_with("*/")) in_block_ = false, ++i;
        continue;
      }
      if (rest.starts_with("//")) break;
      if (rest.starts_with("/*")) {
        in_block_ = true, ++i;
        continue;
      }
      out.push_back(line[i]);
      if (line[i] == '"' && !out.starts_with("#include")) i = skip_literal(line, i, out);
    }
    return out;
  }

 private:
  static std::size_t skip_literal(std::string_view line, std::size_t open, std::string& out) {
    std::size_t i = open + 1;
    while (i < line.size() && line[i] != '"') i += line[i] == '\\' ? 2 : 1;
    out.push_back('"');
    return i;
  }

  bool in_block_ = false;
};

bool is_text(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name == "dev" || name == "run" || name == "CMakeLists.txt") return true;
  return std::ranges::any_of(kTextSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory()) {
      if (name == "build" || name == ".git" || name == ".cache" || name == "node_modules")
        it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file() || !is_text(it->path())) continue;
    std::ifstream in(it->path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    files.push_back(make_file(fs::relative(it->path(), root).generic_string(), text.str()));
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace

bool SourceFile::is_test() const {
  return path.ends_with("_test.cc") || path.ends_with("_pgtest.cc") || path.starts_with("tests/") ||
         path.starts_with("src/store/conformance/") || path.substr(path.rfind('/') + 1).starts_with("test_");
}

std::string_view SourceFile::layer() const {
  constexpr std::string_view kRoot = "src/";
  if (!path.starts_with(kRoot)) return {};
  const auto slash = path.find('/', kRoot.size());
  if (slash == std::string::npos) return {};
  return std::string_view(path).substr(kRoot.size(), slash - kRoot.size());
}

std::vector<Include> SourceFile::includes() const {
  std::vector<Include> out;
  for (std::size_t i = 0; i < code.size(); ++i) {
    constexpr std::string_view kDirective = "#include ";
    if (!code[i].starts_with(kDirective)) continue;
    const std::string rest = code[i].substr(kDirective.size());
    const char close = rest.starts_with('<') ? '>' : '"';
    const auto end = rest.find(close, 1);
    if (end == std::string::npos) continue;
    out.push_back({static_cast<int>(i) + 1, rest.substr(1, end - 1), close == '>'});
  }
  return out;
}

SourceFile make_file(std::string path, std::string_view text) {
  SourceFile file;
  file.path = std::move(path);
  Stripper stripper;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    file.code.push_back(stripper.strip(line));
    file.lines.push_back(std::move(line));
  }
  return file;
}

const std::vector<SourceFile>& project_tree() {
  static const std::vector<SourceFile> tree = read_tree(SEMEL_SOURCE_DIR);
  return tree;
}

bool has_word(std::string_view line, std::string_view word) {
  for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const bool starts = at == 0 || !identifier_char(word.front()) || !identifier_char(line[at - 1]);
    const auto end = at + word.size();
    const bool ends = end == line.size() || !identifier_char(word.back()) || !identifier_char(line[end]);
    if (starts && ends) return true;
  }
  return false;
}

std::string print(const std::vector<Finding>& findings) {
  std::string out;
  for (const auto& finding : findings) {
    out += finding.path + ":" + std::to_string(finding.line) + ": " + finding.message + "\n";
  }
  return out;
}

}  // namespace semel::tidy
