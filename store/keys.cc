#include "store/keys.h"

#include "model/bytes.h"
#include "model/check.h"
#include "model/limits.h"
#include "model/row_codec.h"

namespace waypost::store {
namespace {

constexpr size_t kMetricBytes = 4;

void append_session(std::string& out, const SessionId& session) {
  append_u64(out, session.position.value());
  append_u32(out, session.index);
  out.append(reinterpret_cast<const char*>(session.random.data()), session.random.size());
}

// The numbers under which digests know the tables; never changed.
uint8_t digest_number(Table table) {
  switch (table) {
    case Table::kNexthop:
      return 1;
    case Table::kRoute:
      return 2;
    case Table::kSession:
      return 3;
    case Table::kControl:
      return 4;
    default:
      check_failed(__FILE__, __LINE__, "is_data || is_control", "only such tables are digested");
  }
}

}  // namespace

std::string_view table_name(Table table) {
  static constexpr std::string_view kNames[kTableCount] = {
      "nexthop",       "membership", "route",   "route_by_nexthop", "nexthop_by_content",
      "nexthop_users", "session",    "control", "change",           "log",
      "meta"};
  return kNames[index_of(table)];
}

std::string nexthop_key(NexthopId id) {
  std::string key;
  append_nexthop_key(key, id);
  return key;
}

std::string route_key_bytes(const RouteKey& key) {
  std::string bytes;
  append_route_key(bytes, key);
  return bytes;
}

std::string membership_key(NexthopId member, NexthopId group) {
  std::string key;
  append_u32(key, member.value());
  append_u32(key, group.value());
  return key;
}

std::string route_index_key(NexthopId id, std::string_view route_key) {
  std::string key;
  append_u32(key, id.value());
  key.append(route_key);
  return key;
}

std::string hash_bytes(const Hash128& hash) {
  std::string bytes;
  append_u64(bytes, hash.high);
  append_u64(bytes, hash.low);
  return bytes;
}

std::string content_key(const Hash128& hash, NexthopId id) {
  std::string key = hash_bytes(hash);
  append_u32(key, id.value());
  return key;
}

std::string change_key(Revision revision, uint32_t chunk) {
  std::string key;
  append_u64(key, revision.value());
  append_u32(key, chunk);
  return key;
}

std::string_view without_metric(std::string_view route_key) {
  return route_key.substr(0, route_key.size() - kMetricBytes);
}

std::string session_head_key(const SessionId& session) {
  std::string key = "h";
  append_session(key, session);
  return key;
}

std::string session_slot_key(const SessionId& session, uint64_t number) {
  std::string key = "s";
  append_session(key, session);
  append_u8(key, static_cast<uint8_t>(number % limits::kSessionWindow));
  return key;
}

std::string behind_prefix(std::string_view prefix) {
  std::string behind(prefix);
  while (!behind.empty() && static_cast<uint8_t>(behind.back()) == 0xff) behind.pop_back();
  if (!behind.empty()) behind.back() = static_cast<char>(static_cast<uint8_t>(behind.back()) + 1);
  return behind;
}

Hash128 row_digest(Table table, std::string_view key, std::string_view value) {
  // One buffer per thread: a digest is taken twice per changed row.
  thread_local std::string bytes;
  bytes.clear();
  append_u8(bytes, digest_number(table));
  append_sized(bytes, key);
  bytes.append(value);
  return hash128(bytes);
}

}  // namespace waypost::store
