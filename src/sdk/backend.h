// A kind of store, found by the scheme of its URL. The list of all of them is in wiring.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "semel/engine.h"
#include "store/port.h"

namespace semel::sdk {

struct OpenParams {
  base::LogSink* log = &base::null_log();  // must outlive the store
  bool read_only = false;                  // reads beside a writing owner
  std::string reach;                       // how to reach this process; told to a second writer
};

// `clock` is what the store reads time from when that is not its own.
struct OpenedStore {
  std::shared_ptr<base::Clock> clock;
  std::unique_ptr<store::Store> store;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::vector<std::string_view> schemes() const = 0;  // "sqlite", without the colon
  virtual std::string_view form() const = 0;                  // "sqlite:PATH", for people
  virtual Result<OpenedStore> open(std::string_view url, const OpenParams& params) const = 0;
};

// InvalidArgument names the accepted forms; other errors are the store's own.
Result<OpenedStore> open_store(std::string_view url, const OpenParams& params, std::span<const BackendRef> extra = {});

}  // namespace semel::sdk
