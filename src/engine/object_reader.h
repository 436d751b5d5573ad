// Reads the members of one JSON object strictly. The first fault is kept and told by `finish`; what is read after it
// has no meaning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "semel/id.h"
#include "semel/result.h"
#include "semel/time.h"

namespace semel::engine {

class ObjectReader {
 public:
  // `where` begins every error.
  ObjectReader(base::JsonValue value, std::string where);

  // Absent members are 0, false, the epoch, "" or nothing.
  std::int32_t number(const std::string& name);
  bool flag(const std::string& name);
  Instant instant(const std::string& name);      // RFC 3339, or microseconds since 1970
  std::string text(const std::string& name);     // or NAME_base64
  std::string payload(const std::string& name);  // the bytes of any value, or NAME_base64
  std::optional<ExecutionId> execution(const std::string& name);
  std::optional<base::JsonValue> list(const std::string& name);  // must be there

  template <class T>
  T required(const std::string& name, T (ObjectReader::*read)(const std::string&)) {
    if (!has(name)) refuse(name + " is missing");
    return (this->*read)(name);
  }

  void refuse(const std::string& what);
  // Faults, and members nobody asked for.
  Result<void> finish();

 private:
  std::optional<base::JsonValue> take(const std::string& name);
  std::optional<std::string> encoded(const std::string& name);
  bool has(const std::string& name) const;

  base::JsonValue value_;
  std::string where_;
  std::vector<std::string> known_;
  std::optional<Error> fault_;
};

}  // namespace semel::engine
