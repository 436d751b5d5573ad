#include "tests/crash/child_protocol.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace semel::crash {

void say(const std::string& line) {
  const std::string text = line + "\n";  // shorter than PIPE_BUF: one write is never torn
  if (::write(kPipeFd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::_Exit(0);
}

bool wait_for_go() {
  char word = 0;
  ssize_t count = 0;
  while ((count = ::read(kGoFd, &word, 1)) < 0 && errno == EINTR) {
  }
  return count == 1;
}

void pause_millis(int millis) { ::poll(nullptr, 0, millis); }

}  // namespace semel::crash
