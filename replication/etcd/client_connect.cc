// Which endpoint to use: the current one while it is connected, else whichever connects first.
#include <algorithm>
#include <utility>

#include "replication/etcd/client_core.h"

namespace waypost::replication {
namespace {

// gRPC's notifications cannot be cancelled, so each one is short; the client's end waits for them.
constexpr std::chrono::milliseconds kStateWatch{100};

}  // namespace

void EtcdClient::Core::connect(size_t only_endpoint, std::function<void(Connection)> done) {
  const size_t preferred = only_endpoint == kAnyEndpoint ? current : only_endpoint;
  if (endpoints[preferred].channel->GetState(true) == GRPC_CHANNEL_READY) {
    return done({endpoints[preferred].channel, preferred, ""});
  }
  waiters.emplace_back(
      only_endpoint,
      Waiter{std::move(done), Clock::now() + std::chrono::milliseconds(options.connect_timeout_ms)});
  watch_states();
}

void EtcdClient::Core::watch_states() {
  if (gone || state_watches > 0) return;
  for (Endpoint& endpoint : endpoints) {
    const grpc_connectivity_state state = endpoint.channel->GetState(true);
    ++state_watches;
    endpoint.channel->NotifyOnStateChange(state, std::chrono::system_clock::now() + kStateWatch, &queue,
                                          tag([self = shared_from_this()](bool) {
                                            --self->state_watches;
                                            if (self->gone) return;
                                            self->settle_waiters();
                                            if (!self->waiters.empty()) self->watch_states();
                                          }));
  }
}

void EtcdClient::Core::settle_waiters() {
  std::vector<grpc_connectivity_state> states;
  for (const Endpoint& endpoint : endpoints) states.push_back(endpoint.channel->GetState(true));
  const auto ready = [&](size_t index) { return states[index] == GRPC_CHANNEL_READY; };
  for (size_t i = 0; i < endpoints.size() && !ready(current); ++i) {
    if (ready((current + i) % endpoints.size())) current = (current + i) % endpoints.size();
  }
  const bool all_failed = std::all_of(states.begin(), states.end(), [](grpc_connectivity_state state) {
    return state == GRPC_CHANNEL_TRANSIENT_FAILURE;
  });
  std::vector<std::pair<size_t, Waiter>> still_waiting;
  for (auto& [only, waiter] : std::exchange(waiters, {})) {
    const size_t index = only == kAnyEndpoint ? current : only;
    const bool failed = only == kAnyEndpoint ? all_failed : states[index] == GRPC_CHANNEL_TRANSIENT_FAILURE;
    if (ready(index)) {
      waiter.done({endpoints[index].channel, index, ""});
    } else if (failed || Clock::now() >= waiter.deadline) {
      waiter.done(failed_connection(only));
    } else {
      still_waiting.emplace_back(only, std::move(waiter));
    }
  }
  // Callbacks may have added some.
  waiters.insert(waiters.begin(), std::make_move_iterator(still_waiting.begin()),
                 std::make_move_iterator(still_waiting.end()));
}

EtcdClient::Core::Connection EtcdClient::Core::failed_connection(size_t only_endpoint) const {
  std::string names;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (only_endpoint != kAnyEndpoint && only_endpoint != i) continue;
    if (!names.empty()) names += ", ";
    names += endpoints[i].address;
  }
  return {nullptr, only_endpoint == kAnyEndpoint ? current : only_endpoint,
          "no connection to etcd at " + names};
}

void EtcdClient::Core::leave(size_t endpoint) {
  if (current == endpoint) current = (endpoint + 1) % endpoints.size();
}

}  // namespace waypost::replication
