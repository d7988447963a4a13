// Result<T>: a value, or an Error in words that a user can act on. Every expected failure of the
// project travels in one; the exit code of the CLI and the status of an RPC follow from its code.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "model/check.h"

namespace waypost {

// Numbers are part of the wire format (rpc/waypost.proto carries them): never reused.
enum class ErrorCode {
  kInvalidArgument = 1,  // syntax, or a value outside its bounds
  kNotFound = 2,
  kAlreadyExists = 3,
  kFailedPrecondition = 4,  // refused by a rule: in use, wrong kind, nested group, ...
  kConflict = 5,            // a guard did not hold: the row is not as planned
  kUnavailable = 6,         // never handed to the log: safe to try again (exit 5)
  kOutcomeUnknown = 7,      // handed to the log, no answer (exit 6)
  kDeadlineExceeded = 8,
  kResourceExhausted = 9,  // a bound of model/limits.h, or a nearly full disk
  kPermissionDenied = 10,
  kCorruption = 11,   // bytes that contradict their checksum, chain or grammar
  kIo = 12,           // the disk or the kernel failed
  kUnsupported = 13,  // this build, kernel or version cannot do it
  kInternal = 14,
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;    // names the object and the reason: "nexthop 7 is used by group 3"
  std::string hint = {};  // the cure, or empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & {
    WAYPOST_CHECK(ok(), "value() of an error");
    return std::get<0>(state_);
  }
  const T& value() const& {
    WAYPOST_CHECK(ok(), "value() of an error");
    return std::get<0>(state_);
  }
  T&& value() && {
    WAYPOST_CHECK(ok(), "value() of an error");
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    WAYPOST_CHECK(!ok(), "error() of a value");
    return std::get<1>(state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    WAYPOST_CHECK(!ok(), "error() of a success");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace waypost
