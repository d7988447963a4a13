// Follows the entries in etcd: pages by seek until it is at the end, then watches. Part of the etcd engine,
// on the order thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/etcd/client.h"
#include "replication/etcd/keys.h"
#include "replication/log.h"

namespace waypost::replication {

class EtcdReader : public std::enable_shared_from_this<EtcdReader> {
 public:
  EtcdReader(EtcdClient& client, const EtcdKeys& keys, uint64_t request_timeout_ms)
      : client_(client), keys_(keys), request_timeout_ms_(request_timeout_ms) {}

  void read(Position from, size_t max_bytes, Log::ReadCallback done);
  // Some answer has shown that entry `head` exists. A watch that stays silent about it is not believed any
  // longer.
  void head_is_known(Position head);
  void close();

 private:
  struct Pending {
    Position from;
    size_t max_bytes = 0;
    Log::ReadCallback done;
  };

  void serve();
  void deliver();
  void fail(Error error);
  void page();
  void on_page(Position asked, const EtcdAnswer& answer);
  void open_watch(int64_t revision, Position next);
  void on_watch(const std::string& message);
  void close_watch();
  void serve_later();
  void receive();

  EtcdClient& client_;
  const EtcdKeys keys_;
  const uint64_t request_timeout_ms_;
  bool closed_ = false;
  std::optional<Pending> pending_;
  std::deque<RawEntry> ahead_;  // in order, dense
  size_t ahead_bytes_ = 0;
  bool paging_ = false;
  bool serving_later_ = false;
  bool doubting_ = false;
  int64_t page_entries_ = 16;  // follows the size of entries
  std::unique_ptr<EtcdClient::Stream> watch_;
  bool watch_open_ = false;
  Position watch_next_;  // the next position that the watch must show; ahead_ ends right before it
};

}  // namespace waypost::replication
