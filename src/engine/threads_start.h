// Threads, where the system may have no more of them.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <thread>

#include "semel/error.h"

namespace semel::engine {

// None: the system has no more threads to give.
std::optional<std::thread> start_thread(std::function<void()> main);

// What is told then. `whose` says what could not be started: "the writer".
Error no_thread_for(std::string_view whose);

}  // namespace semel::engine
