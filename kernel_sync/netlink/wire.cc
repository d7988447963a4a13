#include "kernel_sync/netlink/wire.h"

#include <linux/netlink.h>

#include <algorithm>

#include "model/check.h"

namespace waypost::kernel_sync::netlink {

static_assert(kMessageHeaderBytes == sizeof(nlmsghdr));

namespace {

constexpr size_t kAttributeHeaderBytes = sizeof(nlattr);

size_t padded(size_t length) {
  return (length + 3) & ~size_t{3};
}

}  // namespace

void MessageWriter::begin(uint16_t type, uint16_t flags, uint32_t sequence) {
  message_start_ = buffer_.size();
  nlmsghdr header = {};
  header.nlmsg_type = type;
  header.nlmsg_flags = flags;
  header.nlmsg_seq = sequence;
  append({reinterpret_cast<const uint8_t*>(&header), sizeof header});
}

void MessageWriter::append(Bytes bytes) {
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void MessageWriter::pad() {
  buffer_.resize(padded(buffer_.size() - message_start_) + message_start_);
}

void MessageWriter::attribute(uint16_t type, Bytes payload) {
  WAYPOST_CHECK(payload.size() <= UINT16_MAX - kAttributeHeaderBytes, "attribute too long for its length");
  const uint16_t header[2] = {static_cast<uint16_t>(kAttributeHeaderBytes + payload.size()), type};
  append({reinterpret_cast<const uint8_t*>(header), sizeof header});
  append(payload);
  pad();
}

void MessageWriter::text(uint16_t type, std::string_view value) {
  const size_t start = open_nest(type);
  append({reinterpret_cast<const uint8_t*>(value.data()), value.size()});
  buffer_.push_back(0);
  close_nest(start);
}

size_t MessageWriter::open_nest(uint16_t type) {
  const size_t start = buffer_.size();
  const uint16_t header[2] = {0, type};
  append({reinterpret_cast<const uint8_t*>(header), sizeof header});
  return start;
}

void MessageWriter::close_nest(size_t start) {
  const size_t length = buffer_.size() - start;
  WAYPOST_CHECK(length <= UINT16_MAX, "nested attribute too long for its length");
  patch_u16(start, static_cast<uint16_t>(length));
  pad();
}

void MessageWriter::patch_u16(size_t offset, uint16_t value) {
  std::memcpy(buffer_.data() + offset, &value, sizeof value);
}

void MessageWriter::end() {
  const auto length = static_cast<uint32_t>(buffer_.size() - message_start_);
  std::memcpy(buffer_.data() + message_start_, &length, sizeof length);
}

bool MessageReader::next(Message& message) {
  if (rest_.empty()) return false;
  nlmsghdr header;
  if (rest_.size() < sizeof header) {
    malformed_ = true;
    return false;
  }
  std::memcpy(&header, rest_.data(), sizeof header);
  if (header.nlmsg_len < sizeof header || header.nlmsg_len > rest_.size()) {
    malformed_ = true;
    return false;
  }
  message = Message{header.nlmsg_type, header.nlmsg_flags, header.nlmsg_seq, header.nlmsg_pid,
                    rest_.subspan(sizeof header, header.nlmsg_len - sizeof header)};
  rest_ = rest_.subspan(std::min(padded(header.nlmsg_len), rest_.size()));
  return true;
}

std::string_view Attribute::text() const {
  const auto* start = reinterpret_cast<const char*>(payload.data());
  return {start, payload.empty() ? 0 : strnlen(start, payload.size())};
}

bool AttributeReader::next(Attribute& attribute) {
  if (rest_.empty()) return false;
  uint16_t header[2];
  if (rest_.size() < sizeof header) {
    malformed_ = true;
    return false;
  }
  std::memcpy(header, rest_.data(), sizeof header);
  const size_t length = header[0];
  if (length < sizeof header || length > rest_.size()) {
    malformed_ = true;
    return false;
  }
  attribute.type = header[1] & NLA_TYPE_MASK;
  attribute.payload = rest_.subspan(sizeof header, length - sizeof header);
  rest_ = rest_.subspan(std::min(padded(length), rest_.size()));
  return true;
}

}  // namespace waypost::kernel_sync::netlink
