// What travels with a task: bytes and how to read them. Stored and returned byte for byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "semel/result.h"

namespace semel {

// `json` is checked when it is enqueued and compared by value; `opaque` bytes are never looked into and compared
// bytewise.
enum class Encoding : std::uint8_t { json = 0, opaque = 1 };

// At most 512 KiB.
struct Payload {
  Encoding encoding = Encoding::json;
  std::string bytes;
  bool operator==(const Payload&) const = default;
};

// Arguments that are not JSON. A task that takes Bytes may also return them.
struct Bytes {
  std::string data;
  bool operator==(const Bytes&) const = default;
};

// Encrypts or compresses arguments and results on their way out of this process: the store, its backups and other
// programs see opaque bytes. Every process that runs or reads such tasks needs the same codec. Names, ids, error texts
// and heartbeat details are not covered. Thread-safe; must not throw.
class PayloadCodec {
 public:
  virtual ~PayloadCodec() = default;
  virtual std::string encode(std::string_view plain) const = 0;
  virtual Result<std::string> decode(std::string_view stored) const = 0;
  // Same input, same output? If not (random nonces), a duplicate is recognised by its id and name alone, as with
  // match_args(false).
  virtual bool deterministic() const = 0;
};

}  // namespace semel
