// Encapsulations inside the messages of save_stream.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/nexthop.h"

namespace waypost::cli {

// One attribute: a number and its bytes. Appends header, payload and padding.
void append_attribute(std::string& out, uint16_t number, std::string_view payload);

// Walks attributes; false at the end, and on damage: then damaged() is true.
class AttributeWalk {
 public:
  explicit AttributeWalk(std::string_view bytes) : rest_(bytes) {}
  bool next(uint16_t* number, std::string_view* payload);
  bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  bool damaged_ = false;
};

// The value of RTA_ENCAP with the type of RTA_ENCAP_TYPE. None: damaged, or of a type that is not stored.
std::optional<Encap> decode_saved_encap(uint16_t type, std::string_view nested);
bool is_known_encap(uint16_t type);
// Appends RTA_ENCAP_TYPE and RTA_ENCAP; nothing where there is none.
void append_saved_encap(std::string& out, const Encap& encap);

// An address of exactly the family's size, or none.
std::optional<IpAddress> address_of(Family family, std::string_view bytes);
std::string_view bytes_view(const IpAddress& address);

}  // namespace waypost::cli
