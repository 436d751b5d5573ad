// expect: the stub must return what the task returns
// A stub of another type would be found out by the workflow that decodes its result, far from here.
#include <string>

#include "semel/testing.h"

const semel::TaskRef<int, std::string> length("length");

void stub_it(semel::testing::TestEngine& kit) {
#ifdef CONTROL
  kit.stub(length, [](const std::string& text) { return static_cast<int>(text.size()); });
#else
  kit.stub(length, [](const std::string& text) { return text; });
#endif
}
