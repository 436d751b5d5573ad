// The small spaces from which names, ids and outcomes are drawn.
#pragma once

#include <string>
#include <vector>

namespace semel::differential {

inline const std::vector<std::string> kQueues = {"plain", "dead",  "wide",    "keyed", "keyed-too",
                                                 "rated", "brief", "dropped", "flows"};
inline const std::vector<std::string> kNames = {"charge", "charge", "charge", "charge", "charge", "refund"};
inline const std::vector<std::string> kArgs = {R"({"n":1})", R"({"n":1})", R"({"n":1})", R"({"n":1})", R"({"n":2})"};
inline const std::vector<std::string> kIds = {"a", "b", "c", "d", "e", "f", "g", "h"};
inline const std::vector<std::string> kKeys = {"k1", "k2", "k3", "k4"};
inline const std::vector<std::string> kSlots = {"s1", "s2"};
inline const std::vector<std::string> kErrors = {R"({"name":"Boom","message":"1"})",
                                                 R"({"name":"Boom","message":"2"})"};
inline const std::vector<std::string> kResults = {R"({"ok":1})", R"({"ok":2})"};

}  // namespace semel::differential
