// The inside of EtcdClient, divided among client.cc (construction, calls), client_connect.cc (which endpoint)
// and client_stream.cc. All state is the order thread's; gRPC's completion queue is pumped by a thread that
// only posts.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "replication/etcd/client.h"

namespace waypost::replication {

struct EtcdClient::Core : std::enable_shared_from_this<EtcdClient::Core> {
  using Clock = std::chrono::steady_clock;
  using Event = std::function<void(bool ok)>;

  Core(const EtcdOptions& given, Executor given_order) : options(given), order(std::move(given_order)) {}

  struct Endpoint {
    std::string address;  // HOST:PORT
    std::shared_ptr<grpc::Channel> channel;
  };

  // A connection that is ready, or why there is none.
  struct Connection {
    std::shared_ptr<grpc::Channel> channel;
    size_t endpoint = 0;
    std::string words;
  };
  struct Waiter {
    std::function<void(Connection)> done;
    Clock::time_point deadline;
  };

  // client.cc
  void pump();
  // A tag for gRPC; `event` runs on the order thread, or not at all once the client is gone.
  void* tag(Event event);
  void fire(uint64_t id, bool ok);
  void call(size_t only_endpoint, const char* method, std::string request, uint64_t deadline_ms, Done done);
  void start_call(const Connection& connection, const char* method, const std::string& request,
                  uint64_t deadline_ms, Done done);
  void authenticate(std::function<void(Error)> failed, std::function<void()> then);
  void prepare(grpc::ClientContext& context) const;
  void shut_down();

  // client_connect.cc
  static constexpr size_t kAnyEndpoint = ~size_t{0};
  void connect(size_t only_endpoint, std::function<void(Connection)> done);
  void watch_states();
  void settle_waiters();
  void leave(size_t endpoint);  // it failed: the next call prefers another one
  Connection failed_connection(size_t only_endpoint) const;

  const EtcdOptions options;
  const Executor order;
  grpc::CompletionQueue queue;
  std::thread pump_thread;
  bool gone = false;

  std::vector<Endpoint> endpoints;
  size_t current = 0;
  std::vector<std::pair<size_t, Waiter>> waiters;  // (only endpoint or kAnyEndpoint, ...)
  size_t state_watches = 0;                        // outstanding notifications

  // What gRPC owes an answer for, by tag. It owns what gRPC writes to, so it is emptied only when the queue
  // is drained.
  std::unordered_map<uint64_t, Event> events;
  uint64_t next_event = 1;

  std::string token;                    // of user and password
  std::set<grpc::ClientContext*> live;  // cancelled when the client goes
  std::set<grpc::Alarm*> alarms;
};

std::string to_bytes(const grpc::ByteBuffer& buffer);
grpc::ByteBuffer to_buffer(const std::string& bytes);
// What a failed call means (etcd's errors are gRPC codes and words).
Error etcd_error(const grpc::Status& status, const std::string& endpoint);
bool never_executed(const grpc::Status& status);

}  // namespace waypost::replication
