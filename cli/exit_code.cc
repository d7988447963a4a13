#include "cli/exit_code.h"

namespace waypost::cli {
namespace {

std::string_view code_word(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid";
    case ErrorCode::kNotFound:
      return "not-found";
    case ErrorCode::kAlreadyExists:
      return "exists";
    case ErrorCode::kFailedPrecondition:
      return "refused";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kOutcomeUnknown:
      return "outcome-unknown";
    case ErrorCode::kDeadlineExceeded:
      return "timeout";
    case ErrorCode::kResourceExhausted:
      return "exhausted";
    case ErrorCode::kPermissionDenied:
      return "permission-denied";
    case ErrorCode::kCorruption:
      return "corrupt";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "internal";
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kPermissionDenied:
      return kExitNotAuthorised;
    case ErrorCode::kUnavailable:
      return kExitNoConnection;
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kDeadlineExceeded:
      return kExitUnknown;
    default:
      return kExitRefused;
  }
}

void print_error(Output& err, const Options& options, const Error& error, ExitCode code, const Place& place) {
  if (options.print.json) {
    PrintOptions json{.json = true, .pretty = options.print.pretty};
    RowWriter row(err, json);
    row.open_object();
    row.string("error", "", error.message);
    if (!error.hint.empty()) row.string("hint", "", error.hint);
    row.string("reason", "", code_word(error.code));
    row.number("exit", "", code);
    if (place.line != 0) {
      row.string("file", "", place.file);
      row.number("line", "", place.line);
      row.number("column", "", place.column);
    }
    row.close_object();
    err.put("\n");
    return err.flush();
  }
  err.put("error: ");
  if (place.line != 0)
    err.put(place.file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": ");
  err.put(error.message);
  err.put("\n");
  if (!error.hint.empty()) {
    err.put("hint: ");
    err.put(error.hint);
    err.put("\n");
  }
  err.flush();
}

void print_note(Output& err, const Options& options, std::string_view words) {
  if (options.print.json) return;
  err.put(words);
  err.put("\n");
  err.flush();
}

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace waypost::cli
