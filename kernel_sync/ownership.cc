#include "kernel_sync/ownership.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace waypost::kernel_sync {
namespace {

// Written beside and renamed over, so that a reader finds the old text or the new one.
Status write_file(const std::string& path, const std::string& text, bool durable) {
  const std::string beside = path + ".new";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Error{ErrorCode::kIo, "cannot write " + beside + ": " + std::strerror(errno)};
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       (!durable || ::fsync(fd) == 0);
  const int error = errno;
  ::close(fd);
  if (!written) return Error{ErrorCode::kIo, "cannot write " + beside + ": " + std::strerror(error)};
  if (std::rename(beside.c_str(), path.c_str()) != 0)
    return Error{ErrorCode::kIo, "cannot rename " + beside + ": " + std::strerror(errno)};
  return {};
}

std::optional<Hash128> parse_hash(const std::string& text) {
  if (text.size() != 32) return std::nullopt;
  Hash128 hash;
  const char* begin = text.data();
  const auto high = std::from_chars(begin, begin + 16, hash.high, 16);
  const auto low = std::from_chars(begin + 16, begin + 32, hash.low, 16);
  if (high.ptr != begin + 16 || low.ptr != begin + 32) return std::nullopt;
  return hash;
}

}  // namespace

// owners := (decimal "\n")*
Result<std::bitset<256>> adopt_owner_number(const std::string& data_directory, uint8_t protocol) {
  std::bitset<256> owners;
  owners.set(protocol);
  if (data_directory.empty()) return owners;
  const std::string path = data_directory + "/kernel_owners";
  std::ifstream file(path);
  unsigned number = 0;
  while (file >> number) {
    if (number > 255) break;
    owners.set(number);
  }
  if (file.is_open() && !file.eof())
    return Error{ErrorCode::kCorruption, path + " is not a list of protocol numbers",
                 "write the numbers that kernel_sync.protocol ever had into it, one a line"};
  std::string text;
  for (size_t owner = 0; owner < owners.size(); ++owner)
    if (owners.test(owner)) text += std::to_string(owner) + "\n";
  std::ifstream old(path);
  std::stringstream before;
  before << old.rdbuf();
  if (before.str() != text)
    if (Status status = write_file(path, text, true); !status.ok()) return status.error();
  return owners;
}

// mark := "cluster " HEX32 "\n" "history " HEX32 "\n" "revision " DECIMAL "\n"
std::optional<Mark> read_mark(const std::string& path) {
  std::ifstream file(path);
  std::string word, cluster, history;
  uint64_t revision = 0;
  if (!(file >> word >> cluster) || word != "cluster") return std::nullopt;
  if (!(file >> word >> history) || word != "history") return std::nullopt;
  if (!(file >> word >> revision) || word != "revision") return std::nullopt;
  const std::optional<Hash128> cluster_id = parse_hash(cluster);
  const std::optional<Hash128> history_id = parse_hash(history);
  if (!cluster_id || !history_id) return std::nullopt;
  return Mark{*cluster_id, *history_id, Revision(revision)};
}

Status write_mark(const std::string& path, const Mark& mark) {
  if (path.empty()) return {};
  return write_file(path,
                    "cluster " + to_string(mark.cluster) + "\nhistory " + to_string(mark.history) +
                        "\nrevision " + std::to_string(mark.revision.value()) + "\n",
                    false);
}

std::string why_hold(const SweepQuestion& question) {
  if (question.extra == 0) return "";
  std::string why;
  if (!question.mark) {
    why = "there is no mark of an earlier sync at " + question.mark_path;
  } else if (question.mark->cluster != question.store.cluster) {
    why = "they were made from the store of another cluster";
  } else if (question.mark->history != question.store.history) {
    why = "they were made from another history (the store was restored or started anew)";
  } else if (question.mark->revision > question.store.revision) {
    why = "they were made from revision " + std::to_string(question.mark->revision.value()) +
          ", and the store is older (revision " + std::to_string(question.store.revision.value()) + ")";
  } else if (question.extra > question.objects_allowed &&
             static_cast<double>(question.extra) >
                 question.share_allowed * static_cast<double>(question.ours)) {
    why = "they are more than a change made while we were away would explain";
  }
  if (why.empty()) return "";
  return std::to_string(question.extra) + " of " + std::to_string(question.ours) +
         " objects in the kernel are not in the store and are kept: " + why +
         "; look at `waypost fib diff`, then restore the right store or run `waypost fib sweep --yes`";
}

}  // namespace waypost::kernel_sync
