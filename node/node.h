// One waypostd: its parts, and who feeds whom. Built in order, taken down in the reverse.
//
//   clients ─▶ rpc::Server ─▶ services ─▶ Replica ─▶ Log (local, etcd)
//                                 │           │ entries
//                                 │           ▼
//                                 └──── Store ◀── writer thread
//                                          │ revision
//                                          ├─▶ Watchers
//                                          └─▶ Syncer ─▶ kernel
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/result.h"
#include "node/config.h"

namespace waypost::node {

class Node {
 public:
  explicit Node(NodeConfig config);
  ~Node();

  // Opens the store, then the log, then the ports. The error says which of them refused, and why.
  Status start();
  // Runs until quit(), on the calling thread, which becomes the order thread; `ready` is called once on it,
  // when clients are served. An error is a reason to exit that came up while running (another process took
  // this member's name).
  Status run(const std::function<void()>& ready = {});
  // Any thread. Also ends a start() that waits for its cluster.
  void quit();
  bool was_told_to_quit() const;
  // run() ended so that a new Node can do what only a start can: fetch a snapshot.
  bool wants_restart() const;

  uint16_t port() const;       // of clients
  uint16_t http_port() const;  // 0 without HTTP
  // Pieces of work done by the order thread: it hangs where this does not grow. Any thread.
  uint64_t heartbeats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace waypost::node
