// The order example, killed again and again.
#pragma once

#include <string>

namespace semel::crash {

// Runs `processes` of crash_orders beside each other on the store, kills one of them at a random moment and starts it
// again, `kills` times, then lets them finish. Empty: every order is over, every charge is recorded once and was made
// once. Otherwise what is wrong.
std::string kill_orders(const std::string& store, const std::string& effects, int processes, int orders, long kills);

}  // namespace semel::crash
