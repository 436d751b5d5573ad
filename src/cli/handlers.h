// Handlers that come with the program: for trying things out, for the demo, for benchmarks and crash tests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/handler.h"
#include "semel/result.h"

namespace semel::cli {

// A file that handlers append to before they answer: what really ran, however often. Lines are written whole.
class Effects {
 public:
  static Result<std::shared_ptr<Effects>> open(const std::string& path);
  ~Effects();
  void append(const std::string& line) const;

 private:
  explicit Effects(int file) : file_(file) {}
  int file_;
};

// noop   answers null
// echo   answers its args
// sleep  {"for":"2s"}, then answers its args; stops early when asked to
// fail   {"name":"CardDeclined","message":"...","retryable":true}
// crash  ends this process with SIGKILL
// With `effects`, each of them first appends a line `TASK_ID ATTEMPT NAME`.
std::shared_ptr<engine::HandlerTable> builtin_handlers(std::shared_ptr<Effects> effects);

}  // namespace semel::cli
