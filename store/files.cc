#include "store/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

namespace waypost::store {
namespace {

namespace fs = std::filesystem;

constexpr int kExitIo = 74;  // sysexits' EX_IOERR
constexpr size_t kMaxSmallFileBytes = 1u << 20;
constexpr const char* kPointerName = "database";

const char* cure_of(int error) {
  switch (error) {
    case EROFS:
      return "mount it for writing, or use another data directory";
    case EACCES:
    case EPERM:
      return "the user that runs waypostd needs to read and write there";
    case ENOSPC:
    case EDQUOT:
      return "make room there, then start again";
    case ENOENT:
    case ENOTDIR:
      return "make the directory above it first";
    default:
      return "";
  }
}

Error io_error(const std::string& doing, int error) {
  return {.code = ErrorCode::kIo, .message = doing + ": " + std::strerror(error), .hint = cure_of(error)};
}

// A file descriptor that closes itself.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool ok() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// N of a name PREFIX-N, or 0.
uint64_t number_of(const std::string& name, const std::string& prefix) {
  if (name.size() <= prefix.size() + 1 || name.compare(0, prefix.size() + 1, prefix + "-") != 0) return 0;
  uint64_t number = 0;
  std::from_chars(name.data() + prefix.size() + 1, name.data() + name.size(), number);
  return number;
}

uint64_t highest_number(const std::string& directory, const std::string& prefix) {
  uint64_t highest = 0;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(directory, error))
    highest = std::max(highest, number_of(each.path().filename().string(), prefix));
  return highest;
}

}  // namespace

void end_process(std::string_view doing, std::string_view reason) {
  std::fprintf(
      stderr,
      "error: %.*s failed: %.*s\nhint: the process ends, since nothing after a failed disk operation can be "
      "trusted; mend the disk or free space, then start it again\n",
      static_cast<int>(doing.size()), doing.data(), static_cast<int>(reason.size()), reason.data());
  ::_exit(kExitIo);
}

Result<DirectoryLock> DirectoryLock::acquire(const std::string& directory) {
  const std::string path = directory + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return io_error("opening " + path, errno);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    char holder[32] = {};
    const ssize_t size = ::pread(file, holder, sizeof(holder) - 1, 0);
    ::close(file);
    if (error != EWOULDBLOCK) return io_error("locking " + path, error);
    const std::string who = size > 0 ? std::string(holder, static_cast<size_t>(size)) : "unknown";
    return Error{.code = ErrorCode::kFailedPrecondition,
                 .message = "the data directory " + directory + " is in use by process " + who,
                 .hint = "stop that process, or use another data directory"};
  }
  const std::string self = std::to_string(::getpid());
  if (::ftruncate(file, 0) != 0 || ::pwrite(file, self.data(), self.size(), 0) < 0) {
    const int error = errno;
    ::close(file);
    return io_error("writing " + path, error);
  }
  return DirectoryLock(file);
}

DirectoryLock::DirectoryLock(DirectoryLock&& other) noexcept : file_(other.file_) {
  other.file_ = -1;
}

DirectoryLock::~DirectoryLock() {
  if (file_ >= 0) ::close(file_);
}

Status make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) return io_error("making " + path, errno);
  return {};
}

Status sync_directory(const std::string& path) {
  const File file(path, O_RDONLY | O_DIRECTORY);
  if (!file.ok() || ::fsync(file.descriptor()) != 0) return io_error("syncing " + path, errno);
  return {};
}

Status write_file_durably(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  {
    const File file(fresh, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.ok() || !write_all(file.descriptor(), content) || ::fsync(file.descriptor()) != 0)
      return io_error("writing " + fresh, errno);
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return io_error("renaming " + fresh, errno);
  return sync_directory(fs::path(path).parent_path().string());
}

Result<std::string> read_file(const std::string& path) {
  const File file(path, O_RDONLY);
  if (!file.ok() && errno == ENOENT) return Error{.code = ErrorCode::kNotFound, .message = path + ": none"};
  if (!file.ok()) return io_error("opening " + path, errno);
  std::string content(kMaxSmallFileBytes, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = ::read(file.descriptor(), content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return io_error("reading " + path, errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  content.resize(size);
  return content;
}

Status copy_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  if (error) return Error{.code = ErrorCode::kIo, .message = "copying " + from + ": " + error.message()};
  const File file(to, O_RDONLY);
  if (!file.ok() || ::fsync(file.descriptor()) != 0) return io_error("syncing " + to, errno);
  return {};
}

Status remove_tree(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) return Error{.code = ErrorCode::kIo, .message = "removing " + path + ": " + error.message()};
  return {};
}

Result<std::optional<std::string>> read_pointer(const std::string& directory) {
  const std::string path = directory + "/" + kPointerName;
  auto content = read_file(path);
  if (!content.ok() && content.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  if (!content.ok()) return content.error();
  std::string name = *content;
  if (!name.empty() && name.back() == '\n') name.pop_back();
  const bool plain = !name.empty() && name != "." && name != ".." &&
                     name.find_first_of(std::string_view("/\n\0", 3)) == std::string::npos;
  if (!plain)
    return Error{.code = ErrorCode::kCorruption,
                 .message = path + " does not name a database",
                 .hint = "it holds the name of one subdirectory of " + directory + ", such as db-1"};
  return std::optional<std::string>(name);
}

Status write_pointer(const std::string& directory, const std::string& name) {
  return write_file_durably(directory + "/" + kPointerName, name + "\n");
}

std::string fresh_name(const std::string& directory, const std::string& prefix) {
  return prefix + "-" + std::to_string(highest_number(directory, prefix) + 1);
}

bool any_named(const std::string& directory, const std::string& prefix) {
  return highest_number(directory, prefix) != 0;
}

Status remove_others(const std::string& directory, const std::string& prefix, const std::string& kept) {
  std::error_code error;
  std::vector<std::string> others;
  for (const auto& each : fs::directory_iterator(directory, error)) {
    const std::string name = each.path().filename().string();
    if (name != kept && number_of(name, prefix) != 0) others.push_back(each.path().string());
  }
  for (const std::string& path : others)
    if (Status status = remove_tree(path); !status.ok()) return status;
  return {};
}

Hash128 mint_id() {
  Hash128 id;
  while (id == Hash128{})
    if (::getrandom(&id, sizeof(id), 0) != static_cast<ssize_t>(sizeof(id)))
      end_process("getting random bytes", std::strerror(errno));
  return id;
}

}  // namespace waypost::store
