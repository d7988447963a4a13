#include "cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "model/check.h"

namespace waypost::cli {
namespace {

constexpr size_t kBufferBytes = 256u << 10;

}  // namespace

Output::Output(int descriptor)
    : buffer_(new char[kBufferBytes]),
      end_(buffer_.get()),
      limit_(buffer_.get() + kBufferBytes),
      descriptor_(descriptor),
      terminal_(::isatty(descriptor) == 1) {}

Output::Output()
    : buffer_(new char[kBufferBytes]), end_(buffer_.get()), limit_(buffer_.get() + kBufferBytes) {}

Output::~Output() {
  flush();
}

void Output::put(std::string_view text) {
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, kReserve);
    char* out = reserve(piece.size());
    std::memcpy(out, piece.data(), piece.size());
    end_ = out + piece.size();
    text.remove_prefix(piece.size());
  }
}

void Output::put_number(uint64_t number) {
  char* out = reserve(20);
  end_ = std::to_chars(out, out + 20, number).ptr;
}

void Output::end_row() {
  if (first_row_shown_ && !terminal_) return;
  first_row_shown_ = true;
  flush();
}

void Output::make_room(size_t bytes) {
  WAYPOST_CHECK(bytes <= kReserve, "a reservation larger than the promise");
  flush();
}

void Output::flush() {
  const char* at = buffer_.get();
  if (descriptor_ < 0) kept_.append(at, static_cast<size_t>(end_ - at));
  while (descriptor_ >= 0 && at < end_ && error_ == 0) {
    const ssize_t written = ::write(descriptor_, at, static_cast<size_t>(end_ - at));
    if (written >= 0) at += written;
    if (written < 0 && errno != EINTR) error_ = errno;
  }
  end_ = buffer_.get();
}

const std::string& Output::text() {
  flush();
  return kept_;
}

}  // namespace waypost::cli
