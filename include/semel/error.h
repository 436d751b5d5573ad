// The one error table. A separate error exists only where some caller reacts to it differently.
//
// Outcomes (`created`, `existing`, `already-claimed`, ...) are part of success and are not listed here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel {

// May the caller repeat the request?
enum class RetryAdvice : std::uint8_t {
  safe,            // nothing happened; repeat after a pause
  unknown_effect,  // it may have happened; repeat with the same id and the answer tells
  never,           // the same request will fail again
};

// name, HTTP status, gRPC status number, advice. The wire name is the enumerator's name.
// clang-format off
#define SEMEL_ERRORS(X)                                   \
  X(InvalidArgument,       400,  3, never)                \
  X(InvalidConfig,         400,  3, never)                \
  X(PayloadTooLarge,       413,  3, never)                \
  X(TenantNotFound,        404,  5, never)                \
  X(ExecutionNotFound,     404,  5, never)                \
  X(JobNotFound,           404,  5, never)                \
  X(KeyNotFound,           404,  5, never)                \
  X(QueueNotFound,         404,  5, never)                \
  X(TaskAlreadyExists,     409,  6, never)                \
  X(TaskAlreadyCompleted,  409,  6, never)                \
  X(TaskDeadLettered,      409,  6, never)                \
  X(WorkflowAlreadyStarted,   409, 6, never)              \
  X(WorkflowAlreadyCompleted, 409, 6, never)              \
  X(WorkflowDeadLettered,     409, 6, never)              \
  X(FingerprintMismatch,   422,  9, never)                \
  X(KeyConflict,           409,  6, never)                \
  X(LeaseLost,             409, 10, never)                \
  X(InvalidTransition,     409,  9, never)                \
  X(NotReady,              409,  9, safe)                 \
  X(Cancelled,             409,  1, never)                \
  X(TimedOut,              504,  4, unknown_effect)       \
  X(Overloaded,            429,  8, safe)                 \
  X(ShuttingDown,          503, 14, safe)                 \
  X(StoreNotFound,         503, 14, never)                \
  X(StoreReadOnly,         503, 14, never)                \
  X(StoreBusy,             503, 14, safe)                 \
  X(StoreFull,             507,  8, safe)                 \
  X(StoreUnavailable,      503, 14, safe)                 \
  X(StoreCorrupt,          503, 15, never)                \
  X(SchemaTooNew,          503,  9, never)                \
  X(SchemaTooOld,          503,  9, never)                \
  X(UnknownCommit,         503, 14, unknown_effect)       \
  X(Unsupported,           501, 12, never)                \
  X(TaskFailed,            424,  9, never)                \
  X(DecodeFailed,          400,  3, never)                \
  X(NondeterminismError,   409,  9, never)                \
  X(HistoryTooLong,        413,  8, never)                \
  X(Internal,              500, 13, unknown_effect)
// clang-format on

enum class ErrorCode : std::uint16_t {
#define SEMEL_ERROR_ENUM(name, http, grpc, advice) name,
  SEMEL_ERRORS(SEMEL_ERROR_ENUM)
#undef SEMEL_ERROR_ENUM
};

struct ErrorInfo {
  std::string_view name;  // wire name
  int http_status;
  int grpc_status;
  RetryAdvice advice;
};

const ErrorInfo& error_info(ErrorCode code);

// An extra member of the printed error object. `json` is a complete JSON value (a quoted string, a number, an object).
struct ErrorDetail {
  std::string name;
  std::string json;
};

// The message names the thing that is wrong and, where there is one, the fix.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  std::vector<ErrorDetail> details;

  // `{"error":"<Name>","message":"...",...details}`: what REST answers and `-o json` prints.
  std::string to_json() const;
};

inline Error make_error(ErrorCode code, std::string message) { return Error{code, std::move(message), {}}; }

}  // namespace semel
