// Calls to an etcd cluster, in bytes: connections, endpoints in turn, deadlines, authentication, and the one
// question that counts after a failure: can it have happened? Used by the etcd engine.
//
// Threads: everything here is called, and calls back, on the order thread. A thread of its own only waits for
// gRPC's events and posts them there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "model/result.h"
#include "replication/etcd/options.h"
#include "replication/log.h"

namespace waypost::replication {

struct EtcdAnswer {
  Status status;
  // False: the request was never executed (not sent, or refused by a check before execution). True: it may
  // have been, or will be.
  bool may_have_happened = false;
  std::string bytes;  // the encoded response where status is ok
  size_t endpoint = 0;
};

class EtcdClient {
 public:
  using Done = std::function<void(EtcdAnswer)>;

  // kInvalidArgument for an endpoint that cannot be one, kIo for a TLS file that cannot be read.
  static Result<std::unique_ptr<EtcdClient>> create(const EtcdOptions& options, Executor order);
  // No callback runs after it returns; waits up to about 0.1 s for gRPC to let go.
  ~EtcdClient();

  // `method` is a literal like "/etcdserverpb.KV/Txn". Done runs once, at the latest about connect_timeout_ms
  // + deadline_ms later.
  void call(const char* method, std::string request, uint64_t deadline_ms, Done done);
  // The same at this endpoint alone, for health.
  void call_at(size_t endpoint, const char* method, std::string request, uint64_t deadline_ms, Done done);

  // A stream that sends one message and then receives many. Destroying it cancels it; nothing is called after
  // that.
  class Stream {
   public:
    virtual ~Stream() = default;
    // Asks for one message; a reader that is full simply does not ask.
    virtual void next() = 0;
  };
  struct StreamEvents {
    std::function<void()> on_open;  // the message was sent: ask for the first answer
    std::function<void(std::string)> on_message;
    std::function<void(Error)> on_end;  // once; nothing comes after it
  };
  std::unique_ptr<Stream> open_stream(const char* method, std::string first_message, StreamEvents events);

  void after(uint64_t delay_ms, std::function<void()> work);
  uint64_t now_ms() const;  // monotonic

  const std::vector<std::string>& endpoints() const;  // as "HOST:PORT"

 private:
  struct Core;
  explicit EtcdClient(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace waypost::replication
