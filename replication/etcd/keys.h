// The keys of one log in etcd and what their values hold. Pure.
//
//   /waypost/CLUSTER/genesis          version:1 cluster:16 position:8 hash:16   written once; the log begins
//   behind it /waypost/CLUSTER/head             position:8 hash:16    the newest entry; every append compares
//   and moves it (LOG.md rule 1) /waypost/CLUSTER/halt             words; while it is there no append
//   succeeds (LOG.md rule 2) /waypost/CLUSTER/trim             16 hex digits: the lowest position that can be
//   read /waypost/CLUSTER/log/POSITION     an entry; POSITION in 16 hex digits, so that key order is position
//   order /waypost/CLUSTER/member/NAME      presence, under a lease /waypost/CLUSTER/incarnation/NAME 8
//   bytes: the incarnation last given out, raised at each start (LOG.md rule 9)
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/hash128.h"
#include "model/named_type.h"

namespace waypost::replication {

struct Genesis {
  Hash128 cluster;
  Position position;  // the last entry of the log before; 0 for a new cluster
  Hash128 hash;       // of the chain up to it

  bool operator==(const Genesis&) const = default;
};

class EtcdKeys {
 public:
  explicit EtcdKeys(std::string_view cluster);

  std::string genesis() const { return prefix_ + "genesis"; }
  std::string head() const { return prefix_ + "head"; }
  std::string halt() const { return prefix_ + "halt"; }
  std::string trim() const { return prefix_ + "trim"; }
  std::string entry(Position position) const { return log() + hex(position); }
  std::string log() const { return prefix_ + "log/"; }
  std::string log_end() const { return prefix_ + "log0"; }  // '0' follows '/'
  std::string member(std::string_view name) const { return members() + std::string(name); }
  std::string members() const { return prefix_ + "member/"; }
  std::string members_end() const { return prefix_ + "member0"; }
  std::string incarnation(std::string_view name) const {
    return prefix_ + "incarnation/" + std::string(name);
  }

  // The position in a key under log(); nothing for another key.
  std::optional<Position> position(std::string_view key) const;

  static std::string hex(Position position);

 private:
  std::string prefix_;
};

std::optional<Position> parse_hex_position(std::string_view text);

struct EtcdHead {
  Position position;
  Hash128 hash;
};
std::string encode_head(const EtcdHead& head);
std::optional<EtcdHead> decode_head(std::string_view bytes);
std::string encode_genesis(const Genesis& genesis);
std::optional<Genesis> decode_genesis(std::string_view bytes);

}  // namespace waypost::replication
