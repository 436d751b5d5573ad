#include "tests/tidy/rules.h"

#include <algorithm>
#include <array>
#include <regex>
#include <string>

namespace semel::tidy {
namespace {

// Which layers a layer may include, itself aside.
struct LayerRule {
  std::string_view layer;
  std::vector<std::string_view> may_include;
};
const std::array<LayerRule, 8> kLayers = {{
    {"base", {}},
    {"core", {"base"}},
    {"store", {"base", "core"}},
    {"engine", {"base", "core", "store"}},
    {"sdk", {"base", "core", "store", "engine"}},
    {"api", {"base", "core", "store", "engine"}},
    {"cli", {"base", "core", "store", "engine", "sdk", "api"}},
    {"testing", {"base", "core", "store", "engine", "sdk"}},
}};

// Headers of include/semel that are vocabulary: every layer speaks it. The others are the API, made in sdk.
constexpr std::array<std::string_view, 5> kVocabulary = {"semel/time.h", "semel/status.h", "semel/error.h",
                                                         "semel/result.h", "semel/id.h"};

constexpr std::array<std::string_view, 3> kBackends = {"store/memory/", "store/sqlite/", "store/postgres/"};
// Files that turn a URL into a store.
constexpr std::array<std::string_view, 1> kWiring = {"wiring.cc"};

struct HeavyHeader {
  std::string_view prefix;
  std::vector<std::string_view> rooms;  // folders whose .cc files may include it
};
const std::array<HeavyHeader, 5> kHeavyHeaders = {{
    {"openssl/", {"src/base/"}},
    {"CLI/", {"src/cli/"}},
    {"toml++/", {"src/cli/"}},
    {"sqlite3.h", {"src/store/sqlite/", "src/cli/bench/", "src/testing/", "tests/", "examples/"}},
    {"libpq-fe.h",
     {"src/store/postgres/", "src/sdk/postgres/", "src/cli/bench/", "src/testing/", "tests/", "examples/"}},
}};

// A call that reads a clock, sleeps or draws chance, and the files where it belongs.
struct Effect {
  std::string_view call;
  std::vector<std::string_view> rooms;
};
const std::array<Effect, 14> kEffects = {{
    {"system_clock::now", {"src/base/clock"}},
    {"steady_clock::now", {"src/base/clock"}},
    {"high_resolution_clock", {}},
    {"clock_gettime", {"src/base/clock"}},
    {"gettimeofday", {}},
    {"time(nullptr)", {}},
    {"time(NULL)", {}},
    {"sleep_for", {}},
    {"this_thread::sleep_until", {}},  // a workflow's sleep_until is a durable timer
    {"usleep", {}},
    {"nanosleep", {}},
    {"random_device", {"src/base/random"}},
    {"std::rand", {}},
    {"getrandom", {"src/base/random"}},
}};

constexpr std::size_t kMaxLines = 600;

// Unfinished or switched-off places, words about how the project is made, paths of one machine, and the wording the
// contract rules out. Split literals: this file must pass its own rule.
const std::array<std::string, 13> kForbidden = {
    std::string("TO") + "DO",
    std::string("FIX") + "ME",
    std::string("X") + "XX",
    std::string("HA") + "CK",
    std::string("DIS") + "ABLED_",
    std::string("GTEST_") + "SKIP",
    std::string("not imple") + "mented",
    std::string("/wo") + "rk/",
    std::string("/ho") + "me/",
    std::string("/ro") + "ot/",
    std::string("exactly-once ") + "execution",
    std::string("Clau") + "de",
    std::string("session of ") + "work",
};

const LayerRule* find_layer(std::string_view name) {
  const auto it = std::ranges::find(kLayers, name, &LayerRule::layer);
  return it == kLayers.end() ? nullptr : &*it;
}

bool in_rooms(const std::string& path, const std::vector<std::string_view>& rooms) {
  return std::ranges::any_of(rooms, [&](std::string_view room) { return path.starts_with(room); });
}

bool is_cpp(const SourceFile& file) { return file.is_header() || file.is_source(); }

// The type of the variable that this line begins to define, if it lives as long as the process (or thread): anything
// static, and what stands in a namespace, which is not indented. A name before parentheses is a function.
std::string type_of_static(const std::string& line) {
  static const std::regex kVariable(
      "^( *(?:inline )?(?:static |thread_local )+|(?:inline )?const |std::)([^(){}=;]*?[ &*])[A-Za-z_:]+( = "
      "|\\{|;|\\()");
  std::smatch found;
  if (!std::regex_search(line, found, kVariable)) return "";
  if (found[3] == "(" && found[1].str().find("thread_local") == std::string::npos) return "";
  return found[1].str() + found[2].str();
}

// By its looks: a pointer, a reference, a number, a flag.
bool has_no_destructor(const std::string& type) {
  static const std::regex kPlain(
      "[&*] ?(const )?$|constexpr|constinit|(^| )(bool|int|char|std::u?int[0-9]+_t|std::size_t|std::atomic<.*>|"
      "std::once_flag) $");
  return std::regex_search(type, kPlain);
}

}  // namespace

std::vector<Finding> include_direction(const SourceFile& file) {
  std::vector<Finding> out;
  const LayerRule* own = find_layer(file.layer());
  if (own == nullptr || !is_cpp(file)) return out;
  for (const auto& include : file.includes()) {
    const std::string_view room = std::string_view(include.target).substr(0, include.target.find('/'));
    if (room == "semel") {
      const bool speaks_api = own->layer == "sdk" || own->layer == "cli" || own->layer == "testing";
      if (!speaks_api && std::ranges::find(kVocabulary, include.target) == kVocabulary.end()) {
        out.push_back({file.path, include.line, include.target + " is API; below sdk only the vocabulary is known"});
      }
      continue;
    }
    if (include.system || find_layer(room) == nullptr || room == own->layer) continue;
    if (file.is_test() && room == "testing") continue;
    if (std::ranges::find(own->may_include, room) == own->may_include.end()) {
      out.push_back({file.path, include.line, std::string(own->layer) + " must not include " + include.target});
    }
  }
  return out;
}

std::vector<Finding> backends_in_wiring_only(const SourceFile& file) {
  std::vector<Finding> out;
  if (!is_cpp(file) || file.is_test() || file.layer() == "testing") return out;
  const std::string_view name = std::string_view(file.path).substr(file.path.rfind('/') + 1);
  for (const auto& include : file.includes()) {
    for (const std::string_view backend : kBackends) {
      if (!include.target.starts_with(backend)) continue;
      if (file.path.starts_with("src/" + std::string(backend))) continue;
      if (std::ranges::find(kWiring, name) != kWiring.end()) continue;
      out.push_back({file.path, include.line, include.target + ": backends are named in wiring.cc only"});
    }
  }
  return out;
}

std::vector<Finding> oracle_is_independent(const SourceFile& file) {
  constexpr std::array<std::string_view, 5> kRules = {"core/decide", "core/transition", "core/lifecycle",
                                                      "core/duplicate", "core/row_cache"};
  std::vector<Finding> out;
  if (!file.path.starts_with("src/store/memory/") || file.is_test()) return out;
  for (const auto& include : file.includes()) {
    for (const std::string_view rule : kRules) {
      if (!include.target.starts_with(rule)) continue;
      out.push_back({file.path, include.line, include.target + ": the oracle has its own rules"});
    }
  }
  return out;
}

std::vector<Finding> heavy_headers(const SourceFile& file) {
  std::vector<Finding> out;
  if (!is_cpp(file)) return out;
  for (const auto& include : file.includes()) {
    for (const auto& heavy : kHeavyHeaders) {
      if (!include.target.starts_with(heavy.prefix)) continue;
      if (file.is_header()) {
        out.push_back({file.path, include.line, include.target + " belongs in a .cc file"});
      } else if (!in_rooms(file.path, heavy.rooms)) {
        out.push_back({file.path, include.line,
                       include.target + " is used through its facade in " + std::string(heavy.rooms.front())});
      }
    }
  }
  return out;
}

std::vector<Finding> public_headers_are_light(const SourceFile& file) {
  std::vector<Finding> out;
  if (!file.path.starts_with("include/")) return out;
  for (const auto& include : file.includes()) {
    const bool standard = include.system && include.target.find_first_of("./") == std::string::npos;
    const bool ours = !include.system && include.target.starts_with("semel/");
    if (!standard && !ours) out.push_back({file.path, include.line, include.target + " in an installed header"});
  }
  return out;
}

std::vector<Finding> time_is_injected(const SourceFile& file) {
  std::vector<Finding> out;
  if (!is_cpp(file) || file.path.starts_with("tests/tidy/")) return out;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    for (const auto& effect : kEffects) {
      if (!has_word(file.code[i], effect.call) || in_rooms(file.path, effect.rooms)) continue;
      out.push_back({file.path, static_cast<int>(i) + 1, std::string(effect.call) + ": take a clock or random source"});
    }
  }
  return out;
}

std::vector<Finding> threads_in_the_driver(const SourceFile& file) {
  constexpr std::array<std::string_view, 3> kCalls = {"std::thread", "std::jthread", "std::async"};
  constexpr std::array<std::string_view, 3> kSteppingLayers = {"base", "core", "engine"};
  std::vector<Finding> out;
  if (!is_cpp(file) || file.is_test()) return out;
  if (std::ranges::find(kSteppingLayers, file.layer()) == kSteppingLayers.end()) return out;
  if (file.path.starts_with("src/engine/threads")) return out;
  for (std::size_t i = 0; i < file.code.size(); ++i) {
    for (const std::string_view call : kCalls) {
      if (!has_word(file.code[i], call)) continue;
      out.push_back({file.path, static_cast<int>(i) + 1, std::string(call) + ": threads live in engine/threads"});
    }
  }
  return out;
}

std::vector<Finding> statics_have_no_destructor(const SourceFile& file) {
  std::vector<Finding> out;
  if (!is_cpp(file) || file.is_test() || !file.path.starts_with("src/")) return out;
  if (file.path.starts_with("src/testing/") && !file.path.starts_with("src/testing/kit/")) return out;
  for (std::size_t i = 0; i < file.code.size(); ++i)
    if (const std::string type = type_of_static(file.code[i]); !type.empty() && !has_no_destructor(type))
      out.push_back({file.path, static_cast<int>(i) + 1, type + ": write constexpr, or static auto& name = *new Type"});
  return out;
}

std::vector<Finding> file_length(const SourceFile& file) {
  if (!is_cpp(file) || file.lines.size() <= kMaxLines) return {};
  return {{file.path, static_cast<int>(file.lines.size()), "a file that wants 600 lines wants to be two"}};
}

std::vector<Finding> forbidden_words(const SourceFile& file) {
  std::vector<Finding> out;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    for (const auto& word : kForbidden) {
      const bool ends_open = word.back() == '_';
      const bool found = ends_open ? file.lines[i].find(word) != std::string::npos : has_word(file.lines[i], word);
      if (found) out.push_back({file.path, static_cast<int>(i) + 1, "'" + word + "'"});
    }
  }
  return out;
}

}  // namespace semel::tidy
