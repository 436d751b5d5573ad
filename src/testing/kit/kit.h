// What stands behind TestEngine, for the kit's own tools.
#pragma once

#include <memory>
#include <optional>

#include "sdk/attempt.h"
#include "semel/testing.h"
#include "testing/kit/stepped_driver.h"

namespace semel::testing {

struct TestEngine::Impl {
  SteppedDriver* driver = nullptr;  // owned by the host
  std::shared_ptr<const sdk::HandlerEnv> env;
  std::optional<Engine> engine;
};

struct Kit {
  static SteppedDriver& driver(TestEngine& kit) { return *kit.impl_->driver; }
  static const sdk::Sealer& sealer(TestEngine& kit) { return kit.impl_->env->sealer; }
};

}  // namespace semel::testing
