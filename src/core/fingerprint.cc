#include "core/fingerprint.h"

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

namespace semel::core {
namespace {

using namespace std::string_view_literals;

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

Error nul_error(const char* field) {
  return make_error(ErrorCode::InvalidArgument, std::string(field) + " contains a NUL byte; remove it");
}

}  // namespace

std::string Fingerprint::to_string() const { return "v1:" + base::to_hex(bytes); }

Result<Fingerprint> fingerprint_of(std::string_view name, std::string_view args_json) {
  if (has_nul(name)) return nul_error("name");
  if (args_json.empty()) args_json = "null";
  auto canonical = base::canonical_json(args_json);
  if (!canonical) {
    Error error = std::move(canonical).error();
    error.message = "args: " + error.message;
    return error;
  }
  return Fingerprint{base::sha256({"v1\0json\0"sv, name, "\0"sv, *canonical})};
}

Result<Fingerprint> fingerprint_of_raw(std::string_view name, std::string_view encoding, std::string_view bytes) {
  if (has_nul(name)) return nul_error("name");
  if (has_nul(encoding)) return nul_error("encoding");
  return Fingerprint{base::sha256({"v1\0raw\0"sv, name, "\0"sv, encoding, "\0"sv, bytes})};
}

}  // namespace semel::core
