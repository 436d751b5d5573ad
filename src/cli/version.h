#pragma once

namespace semel::cli {

#ifdef SEMEL_VERSION
inline constexpr const char* kVersion = SEMEL_VERSION;
#else
inline constexpr const char* kVersion = "0.0.0";
#endif

}  // namespace semel::cli
