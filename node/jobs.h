// Work too large for one transaction: planned here, run as bounded transactions under a session of its own,
// several in flight, with progress (LOG.md rule 12). Ends early where its client goes; what was done stays
// done.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace waypost::rpc {
class Call;
}

namespace waypost::node {

struct Parts;

class Jobs {
 public:
  // Order thread.
  void start(Parts& parts, std::shared_ptr<rpc::Call> call);
  size_t running() const { return *running_; }

 private:
  class Job;
  std::shared_ptr<std::atomic<size_t>> running_ = std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace waypost::node
