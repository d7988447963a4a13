// `monitor`: clients that follow the changes. Nothing is queued for a watcher: it reads the store's own
// history from where it is, as fast as its client takes it, so a slow one costs no memory; one that falls
// behind what the history keeps is cut, in words.
#pragma once

#include <list>
#include <memory>

namespace waypost::rpc {
class Call;
}

namespace waypost::node {

struct Parts;

class Watchers {
 public:
  // All on the order thread.
  void add(Parts& parts, std::shared_ptr<rpc::Call> call);
  void on_revision();
  size_t count() const { return watchers_.size(); }
  void stop();

 private:
  class Watcher;
  void forget_ended();
  std::list<std::shared_ptr<Watcher>> watchers_;
};

}  // namespace waypost::node
