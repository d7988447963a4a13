// Where text goes: one large buffer in front of a descriptor, filled by hand, because a listing of millions
// of rows must not pay for a stream or a format string per field. The first row is written at once, the rest
// as the buffer fills.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace waypost::cli {

class Output {
 public:
  // Writes to `descriptor`, which stays open.
  explicit Output(int descriptor);
  // Keeps everything in memory: for tests, and for texts that are sized before they are printed.
  Output();
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // At least `bytes` (at most kReserve) of room; commit() says how far it was used.
  char* reserve(size_t bytes) {
    if (static_cast<size_t>(limit_ - end_) < bytes) make_room(bytes);
    return end_;
  }
  void commit(char* end) { end_ = end; }

  void put(char c) {
    *reserve(1) = c;
    ++end_;
  }
  void put(std::string_view text);
  void put_number(uint64_t number);

  // A row is complete: the first one is shown at once, on a terminal each.
  void end_row();
  void flush();

  bool is_terminal() const { return terminal_; }
  // The reader is gone (EPIPE) or the disk is full: what follows is dropped.
  int error() const { return error_; }
  // Everything so far; only of an Output in memory.
  const std::string& text();

  static constexpr size_t kReserve = 4'096;

 private:
  void make_room(size_t bytes);

  std::unique_ptr<char[]> buffer_;
  char* end_ = nullptr;
  char* limit_ = nullptr;
  std::string kept_;
  int descriptor_ = -1;
  int error_ = 0;
  bool terminal_ = false;
  bool first_row_shown_ = false;
};

}  // namespace waypost::cli
