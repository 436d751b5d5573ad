// Opens a store by URL for the crash programs.
#pragma once

#include <memory>
#include <string>

#include "semel/result.h"
#include "store/port.h"

namespace semel::crash {

Result<std::unique_ptr<store::Store>> open_store(const std::string& url, bool migrate);

}  // namespace semel::crash
