// What a child of a crash test tells its parent, line by line, through a pipe. What was written before a SIGKILL still
// arrives.
//
//   R                       the store is open, work begins
//   b <task_id>             an enqueue is on its way
//   a <task_id> <id>        ... and was acknowledged: execution <id>
//   B <id>                  a completion is on its way
//   C <id> <token>          ... and was acknowledged with this result
//   V <failpoint>           a crash point was visited for the first time in this process
//
// crash_peer (see there) says more. The parent says "go" through a second pipe.
#pragma once

#include <string>

namespace semel::crash {

inline constexpr int kPipeFd = 3;  // child -> parent
inline constexpr int kGoFd = 4;    // parent -> child

// Child side: one line; ends the process when nobody listens any more.
void say(const std::string& line);
// Child side: waits for the parent's next word; false when it is gone.
bool wait_for_go();
// Child side: between two renewals of a lease.
void pause_millis(int millis);

}  // namespace semel::crash
