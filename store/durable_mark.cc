#include "store/durable_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "model/bytes.h"
#include "model/row_codec.h"
#include "store/files.h"
#include "store/keys.h"

namespace waypost::store {
namespace {

constexpr std::string_view kMagic("WPMARK1\0", 8);
constexpr off_t kSlotDistance = 4'096;
constexpr size_t kSlotBytes = 49;

std::string encode_slot(uint64_t sequence, const DurableMark& mark) {
  std::string slot(kMagic);
  append_u64(slot, sequence);
  append_u8(slot, static_cast<uint8_t>(mark.of));
  append_u64(slot, mark.position.value());
  slot += hash_bytes(mark.chain);
  append_u64(slot, row_guard(slot));
  return slot;
}

bool decode_slot(std::string_view bytes, uint64_t* sequence, DurableMark* mark) {
  ByteReader reader(bytes);
  if (reader.take(kMagic.size()) != kMagic) return false;
  *sequence = reader.u64();
  mark->of = static_cast<DurableMark::Of>(reader.u8());
  mark->position = Position(reader.u64());
  mark->chain.high = reader.u64();
  mark->chain.low = reader.u64();
  const std::string_view covered = bytes.substr(0, kSlotBytes - 8);
  return reader.u64() == row_guard(covered) && !reader.failed();
}

}  // namespace

Result<DurableMarkFile> DurableMarkFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0)
    return Error{.code = ErrorCode::kIo, .message = "opening " + path + ": " + std::strerror(errno)};
  DurableMarkFile file(descriptor, path);
  bool any_bytes = false;
  for (off_t slot = 0; slot < 2; ++slot) {
    char bytes[kSlotBytes] = {};
    const ssize_t size = ::pread(descriptor, bytes, sizeof(bytes), slot * kSlotDistance);
    if (size < 0)
      return Error{.code = ErrorCode::kIo, .message = "reading " + path + ": " + std::strerror(errno)};
    any_bytes |= size > 0;
    uint64_t sequence = 0;
    DurableMark mark;
    if (size != static_cast<ssize_t>(sizeof(bytes)) ||
        !decode_slot({bytes, sizeof(bytes)}, &sequence, &mark) || sequence <= file.sequence_)
      continue;
    file.sequence_ = sequence;
    file.mark_ = mark;
  }
  if (any_bytes && !file.mark_)
    return Error{
        .code = ErrorCode::kCorruption,
        .message = "the durable mark " + path + " is damaged",
        .hint =
            "whether synced entries are missing can not be told without it; restore from a snapshot, "
            "or remove the file to open the store unchecked"};
  return file;
}

DurableMarkFile::DurableMarkFile(DurableMarkFile&& other) noexcept
    : file_(other.file_), path_(std::move(other.path_)), mark_(other.mark_), sequence_(other.sequence_) {
  other.file_ = -1;
}

DurableMarkFile::~DurableMarkFile() {
  if (file_ >= 0) ::close(file_);
}

void DurableMarkFile::write(const DurableMark& mark) {
  const std::string slot = encode_slot(++sequence_, mark);
  const off_t at = static_cast<off_t>(sequence_ % 2) * kSlotDistance;
  if (::pwrite(file_, slot.data(), slot.size(), at) != static_cast<ssize_t>(slot.size()) ||
      ::fdatasync(file_) != 0)
    end_process("writing the durable mark " + path_, std::strerror(errno));
  mark_ = mark;
}

}  // namespace waypost::store
