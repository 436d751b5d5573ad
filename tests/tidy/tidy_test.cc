#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tidy/rules.h"
#include "tests/tidy/tree.h"

namespace semel::tidy {
namespace {

struct Case {
  const char* name;
  Rule rule;
  // One example that the rule must find, and one it must leave alone.
  const char* bad_path;
  const char* bad_text;
  const char* good_path;
  const char* good_text;
};

void PrintTo(const Case& rule, std::ostream* out) { *out << rule.name; }

const std::vector<Case> kRules = {
    {"IncludeDirection", include_direction,                  //
     "src/core/claim.cc", "#include \"engine/writer.h\"\n",  //
     "src/engine/claim.cc", "#include \"core/rows.h\"\n"},
    {"ProductNeverIncludesTesting", include_direction,                //
     "src/engine/claim.cc", "#include \"testing/manual_clock.h\"\n",  //
     "src/engine/claim_test.cc", "#include \"testing/manual_clock.h\"\n"},
    {"LowerLayersKnowOnlyTheVocabulary", include_direction,  //
     "src/core/claim.cc", "#include \"semel/worker.h\"\n",   //
     "src/core/claim.cc", "#include \"semel/result.h\"\n"},
    {"BackendsInWiringOnly", backends_in_wiring_only,           //
     "src/cli/task.cc", "#include \"store/sqlite/store.h\"\n",  //
     "src/cli/wiring.cc", "#include \"store/sqlite/store.h\"\n"},
    {"OracleIsIndependent", oracle_is_independent,                    //
     "src/store/memory/store.cc", "#include \"core/lifecycle.h\"\n",  //
     "src/store/memory/store.cc", "#include \"core/rows.h\"\n"},
    {"HeavyHeadersOnlyInSources", heavy_headers,            //
     "src/store/sqlite/store.h", "#include <sqlite3.h>\n",  //
     "src/store/sqlite/store.cc", "#include <sqlite3.h>\n"},
    {"HeavyHeadersOnlyInTheirRoom", heavy_headers,         //
     "src/engine/claim.cc", "#include <openssl/evp.h>\n",  //
     "src/base/sha256.cc", "#include <openssl/evp.h>\n"},
    {"PublicHeadersAreLight", public_headers_are_light,     //
     "include/semel/task.h", "#include \"core/rows.h\"\n",  //
     "include/semel/task.h", "#include <string>\n#include \"semel/id.h\"\n"},
    {"TimeIsInjected", time_is_injected,                                     //
     "src/engine/claim.cc", "auto t = std::chrono::system_clock::now();\n",  //
     "src/engine/claim.cc", "// never system_clock::now() here\n"},
    {"NoSleepInTests", time_is_injected,                               //
     "src/engine/claim_test.cc", "std::this_thread::sleep_for(d);\n",  //
     "src/engine/claim_test.cc", "auto t = clock.now();\n"},
    {"ThreadsInTheDriver", threads_in_the_driver,  //
     "src/engine/claim.cc", "std::thread t;\n",    //
     "src/engine/threads.cc", "std::thread t;\n"},
    {"StaticsHaveNoDestructor", statics_have_no_destructor,                           //
     "src/core/a.cc", "  static const auto texts = std::map<int, std::string>{};\n",  //
     "src/core/a.cc", "  static const auto& texts = *new std::map<int, std::string>;\n"},
    {"VariablesOfNamespacesHaveNoDestructor", statics_have_no_destructor,  //
     "src/core/a.cc", "const std::string kName = \"name\";\n",             //
     "src/core/a.cc", "constexpr std::string_view kName = \"name\";\n"},
    {"ThreadLocalsHaveNoDestructor", statics_have_no_destructor,                    //
     "src/core/a.cc", "  thread_local const std::unique_ptr<Context> own(f());\n",  //
     "src/core/a.cc", "thread_local Context* own = nullptr;\n"},
    {"ForbiddenWords", forbidden_words,  //
     "src/core/a.cc",
     "// TO"
     "DO: later\n",  //
     "src/core/a.cc",
     "// MASTO"
     "DON\n"},
};

class TidyRule : public testing::TestWithParam<Case> {};

TEST_P(TidyRule, FindsItsExample) {
  EXPECT_EQ(GetParam().rule(make_file(GetParam().bad_path, GetParam().bad_text)).size(), 1u);
}

TEST_P(TidyRule, LeavesGoodCodeAlone) {
  const auto findings = GetParam().rule(make_file(GetParam().good_path, GetParam().good_text));
  EXPECT_TRUE(findings.empty()) << print(findings);
}

TEST_P(TidyRule, HoldsInTheWholeTree) {
  for (const auto& file : project_tree()) {
    const auto findings = GetParam().rule(file);
    EXPECT_TRUE(findings.empty()) << print(findings);
  }
}

INSTANTIATE_TEST_SUITE_P(Law, TidyRule, testing::ValuesIn(kRules), [](const auto& info) { return info.param.name; });

TEST(Tidy, NoFileIsOver600Lines) {
  std::string long_text;
  for (int i = 0; i < 601; ++i) long_text += "\n";
  EXPECT_EQ(file_length(make_file("src/core/a.cc", long_text)).size(), 1u);
  for (const auto& file : project_tree()) {
    const auto findings = file_length(file);
    EXPECT_TRUE(findings.empty()) << print(findings);
  }
}

// What the readme shows is what the install test compiles and runs.
TEST(Tidy, TheReadmeShowsTheOutsideProgram) {
  std::string readme, program;
  for (const auto& file : project_tree()) {
    std::string* text = nullptr;
    if (file.path == "README.md") text = &readme;
    if (file.path == "tests/install/outside/embedded.cc") text = &program;
    if (text == nullptr) continue;
    for (const auto& line : file.lines) *text += line + "\n";
  }
  ASSERT_FALSE(program.empty());
  EXPECT_NE(readme.find("```cpp\n" + program + "```\n"), std::string::npos);
}

TEST(Tidy, TheTreeWasRead) { EXPECT_GT(project_tree().size(), 20u); }

}  // namespace
}  // namespace semel::tidy
