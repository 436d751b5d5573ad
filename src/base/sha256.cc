// SHA-256 by libcrypto's functions that keep no state of their own.
//
// Its EVP interface has contexts and a table that libcrypto frees when the process ends, while an engine that outlives
// main still hashes. These functions are older and marked as deprecated for that they have no such state.
#define OPENSSL_API_COMPAT 0x10101000L
#include "base/sha256.h"

#include <openssl/sha.h>

namespace semel::base {

Sha256Digest sha256(std::string_view bytes) { return sha256({bytes}); }

Sha256Digest sha256(std::initializer_list<std::string_view> parts) {
  SHA256_CTX context;
  SHA256_Init(&context);
  for (const std::string_view part : parts) SHA256_Update(&context, part.data(), part.size());
  Sha256Digest digest;
  SHA256_Final(digest.data(), &context);
  return digest;
}

}  // namespace semel::base
