#include "tests/crash/failpoints.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace semel::crash {

std::vector<std::string> all_failpoints() {
  static const std::string kCall = "SEMEL_FP(\"";
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(SEMEL_SOURCE_DIR) + "/src")) {
    if (entry.path().extension() != ".cc" || entry.path().stem().string().ends_with("test")) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (std::size_t at = 0; (at = source.find(kCall, at)) != std::string::npos;) {
      at += kCall.size();
      names.insert(source.substr(at, source.find('"', at) - at));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<std::string> failpoints_of(const std::vector<std::string>& prefixes) {
  std::vector<std::string> out;
  for (auto& name : all_failpoints())
    if (std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& prefix) { return name.starts_with(prefix); }))
      out.push_back(std::move(name));
  return out;
}

}  // namespace semel::crash
