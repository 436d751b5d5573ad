// Between the words of the public API and those of the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "semel/engine.h"

namespace semel::sdk {

// Payloads on their way into and out of the store. Without a codec they pass as they are.
class Sealer {
 public:
  explicit Sealer(std::shared_ptr<const PayloadCodec> codec) : codec_(std::move(codec)) {}

  Payload seal(Payload plain) const;
  Result<Payload> open(Payload stored) const;
  // A result is stored in the encoding of the arguments it belongs to: only sealed arguments have a sealed result.
  std::string seal_result(const Payload& plain, core::Encoding of_args) const;
  bool transparent() const { return codec_ == nullptr; }
  bool same_in_same_out() const { return codec_ == nullptr || codec_->deterministic(); }

 private:
  std::shared_ptr<const PayloadCodec> codec_;
};

core::RetryOverrides to_overrides(const RetryPolicy& policy);
core::LaneConfig to_config(const QueueOptions& options);
Result<engine::EnqueueRequest> to_request(const Item& item, const std::string& tenant, const Sealer& sealer);

Failure to_failure(const std::string& error_json);
Result<Execution> to_execution(const store::ExecutionView& view, const Sealer& sealer);

}  // namespace semel::sdk
