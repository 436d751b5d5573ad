#include "tests/crash/exit_forms.h"

#include <sys/wait.h>

#include "tests/crash/process.h"

namespace semel::crash {

std::string exit_of(const std::string& form, const std::string& store) {
  Process child("exit_child", {form, store});
  child.expect_line("handled");
  const int status = child.wait();
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
  return "exit " + std::to_string(WEXITSTATUS(status));
}

}  // namespace semel::crash
