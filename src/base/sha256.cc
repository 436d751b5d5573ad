#include "base/sha256.h"

#include <openssl/evp.h>

#include <cstdlib>
#include <memory>

namespace semel::base {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Fetching the algorithm costs more than hashing a small payload: do it once.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return fetched;
}

EVP_MD_CTX* context() {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> own(EVP_MD_CTX_new());
  return own.get();
}

void require(int ok) {
  if (ok != 1) std::abort();  // libcrypto without SHA-256 or out of memory
}

}  // namespace

Sha256Digest sha256(std::string_view bytes) { return sha256({bytes}); }

Sha256Digest sha256(std::initializer_list<std::string_view> parts) {
  EVP_MD_CTX* const ctx = context();
  require(EVP_DigestInit_ex(ctx, algorithm(), nullptr));
  for (const std::string_view part : parts) require(EVP_DigestUpdate(ctx, part.data(), part.size()));
  Sha256Digest digest;
  require(EVP_DigestFinal_ex(ctx, digest.data(), nullptr));
  return digest;
}

}  // namespace semel::base
