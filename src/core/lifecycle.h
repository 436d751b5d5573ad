// Which status may follow which: the table of the contract, section 2.
#pragma once

#include <array>

#include "semel/status.h"

namespace semel::core {

struct Move {
  Kind kind;
  Status from;
  Status to;
  const char* because;
};

// Every legal move. Anything that is not a line of this table does not happen; a terminal status has no line.
inline constexpr std::array kMoves = {
    // A task: queued -> claimed -> running -> terminal.
    Move{Kind::task, Status::queued, Status::claimed, "a worker won the claim"},
    Move{Kind::task, Status::queued, Status::cancelled, "cancelled before it started"},
    Move{Kind::task, Status::queued, Status::timed_out, "its timeout passed while it waited"},

    Move{Kind::task, Status::claimed, Status::running, "first heartbeat, or the handler started"},
    Move{Kind::task, Status::claimed, Status::queued, "retry, lease expired or released"},
    Move{Kind::task, Status::claimed, Status::succeeded, "completed"},
    Move{Kind::task, Status::claimed, Status::failed, "non-retryable, or attempts used up"},
    Move{Kind::task, Status::claimed, Status::cancelled, "the worker honoured a cancel request"},
    Move{Kind::task, Status::claimed, Status::timed_out, "its timeout passed during the attempt"},
    Move{Kind::task, Status::claimed, Status::dead_lettered, "attempts used up on a dead-letter queue"},

    Move{Kind::task, Status::running, Status::queued, "retry, lease expired or released"},
    Move{Kind::task, Status::running, Status::succeeded, "completed"},
    Move{Kind::task, Status::running, Status::failed, "non-retryable, or attempts used up"},
    Move{Kind::task, Status::running, Status::cancelled, "the worker honoured a cancel request"},
    Move{Kind::task, Status::running, Status::timed_out, "its timeout passed during the attempt"},
    Move{Kind::task, Status::running, Status::dead_lettered, "attempts used up on a dead-letter queue"},

    // A workflow: queued -> running <-> suspended -> terminal. It never goes back to queued: its retry is a new
    // execution.
    Move{Kind::workflow, Status::queued, Status::running, "its first decision was claimed"},
    Move{Kind::workflow, Status::queued, Status::cancelled, "cancelled before it started"},
    Move{Kind::workflow, Status::queued, Status::timed_out, "its timeout passed while it waited"},

    Move{Kind::workflow, Status::running, Status::suspended, "waits for something"},
    Move{Kind::workflow, Status::running, Status::succeeded, "completed or continued as new"},
    Move{Kind::workflow, Status::running, Status::failed, "failed"},
    Move{Kind::workflow, Status::running, Status::cancelled, "cancelled or terminated"},
    Move{Kind::workflow, Status::running, Status::timed_out, "its timeout passed"},
    Move{Kind::workflow, Status::running, Status::dead_lettered, "attempts used up on a dead-letter queue"},

    Move{Kind::workflow, Status::suspended, Status::running, "something it waited for arrived"},
    Move{Kind::workflow, Status::suspended, Status::succeeded, "completed or continued as new"},
    Move{Kind::workflow, Status::suspended, Status::failed, "failed"},
    Move{Kind::workflow, Status::suspended, Status::cancelled, "cancelled or terminated"},
    Move{Kind::workflow, Status::suspended, Status::timed_out, "its timeout passed"},
    Move{Kind::workflow, Status::suspended, Status::dead_lettered, "attempts used up on a dead-letter queue"},
};

// Staying in a status is not a move.
bool can_move(Kind kind, Status from, Status to);

// The status words a kind can have: a task is never suspended, a workflow is never claimed.
bool has_status(Kind kind, Status status);

}  // namespace semel::core
