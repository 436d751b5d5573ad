// The driver of real programs: engine::Runtime and its threads.
#pragma once

#include <memory>

#include "engine/threads.h"
#include "sdk/backend.h"
#include "sdk/driver.h"

namespace semel::sdk {

Result<std::unique_ptr<Driver>> make_runtime_driver(OpenedStore opened, engine::RuntimeOptions options);

}  // namespace semel::sdk
