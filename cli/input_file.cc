#include "cli/input_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace waypost::cli {
namespace {

constexpr size_t kPieceBytes = 256u << 10;

Error file_error(const std::string& doing, const std::string& name, int error) {
  return {ErrorCode::kIo, "cannot " + doing + " " + name + ": " + std::strerror(error)};
}

// Reads until the end of `descriptor`.
Status read_pieces(int descriptor, const std::string& name,
                   const std::function<bool(std::string_view)>& piece) {
  const std::unique_ptr<char[]> buffer(new char[kPieceBytes]);
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.get(), kPieceBytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", name, errno);
    if (got == 0 || !piece({buffer.get(), static_cast<size_t>(got)})) return {};
  }
}

Status write_all(int descriptor, std::string_view bytes, const std::string& directory) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Error error = file_error("keep standard input in", directory, errno);
      error.hint = "it is read whole before anything is applied; name a file, or set TMPDIR to a larger disk";
      return error;
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

// A copy of a stream in a file without a name: gone when it is closed.
Result<int> spool(int stream, const std::string& name) {
  const char* named = std::getenv("TMPDIR");
  const std::string directory = named != nullptr && *named != '\0' ? named : "/tmp";
  std::string path = directory + "/waypost-XXXXXX";
  const int copy = ::mkostemp(path.data(), O_CLOEXEC);
  if (copy < 0) return file_error("make a temporary file in", directory, errno);
  ::unlink(path.c_str());
  Status written;
  Status read = read_pieces(stream, name, [&](std::string_view piece) {
    written = write_all(copy, piece, directory);
    return written.ok();
  });
  if (read.ok() && written.ok()) return copy;
  ::close(copy);
  return written.ok() ? read.error() : written.error();
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, int standard_input) {
  const bool standard = path == "-";
  const std::string name = standard ? "standard input" : path;
  const int descriptor = standard ? standard_input : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return file_error("open", name, errno);
  if (::lseek(descriptor, 0, SEEK_CUR) >= 0) return InputFile(name, descriptor, !standard);
  Result<int> copy = spool(descriptor, name);
  if (!standard) ::close(descriptor);
  if (!copy.ok()) return copy.error();
  return InputFile(name, *copy, true);
}

InputFile::InputFile(InputFile&& other) noexcept
    : name_(std::move(other.name_)),
      descriptor_(other.descriptor_),
      owned_(std::exchange(other.owned_, false)) {}

InputFile::~InputFile() {
  if (owned_) ::close(descriptor_);
}

Status InputFile::read(const std::function<bool(std::string_view)>& piece) {
  if (::lseek(descriptor_, 0, SEEK_SET) < 0) return file_error("rewind", name_, errno);
  return read_pieces(descriptor_, name_, piece);
}

}  // namespace waypost::cli
