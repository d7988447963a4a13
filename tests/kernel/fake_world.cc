#include "kernel_sync/fake_kernel.h"
#include "tests/kernel/build.h"
#include "tests/kernel/world.h"

namespace waypost::kernel_sync {

namespace {

class FakeWorld final : public World {
 public:
  FakeWorld() {
    for (const int i : {0, 1}) {
      const std::string number = std::to_string(i);
      add_link("e" + number);
      add_address("e" + number, "10.7." + number + ".1/24");
      add_address("e" + number, "2001:db8:7" + number + "::1/64");
    }
    events();
  }

  Engine engine() const override { return Engine::kFake; }
  Kernel& kernel() override { return kernel_; }
  BatchOutcome foreign(const std::vector<KernelStep>& steps) override { return kernel_.foreign(steps); }
  std::string foreign_append(const KernelRoute& route) override {
    const FakeAnswer answer = kernel_.foreign_append(route);
    return answer_text(answer.error, answer.words);
  }
  // The indexes of a veth pair in a fresh namespace: the peer comes first.
  void add_link(const std::string& name) override {
    kernel_.fib().add_link(name, true, true, next_ifindex_ + 1);
    next_ifindex_ += 2;
  }
  void remove_link(const std::string& name) override { kernel_.fib().remove_link(name); }
  void rename_link(const std::string& name, const std::string& to) override {
    kernel_.fib().rename_link(name, to);
  }
  void set_up(const std::string& name, bool up) override { kernel_.fib().set_up(name, up); }
  void set_carrier(const std::string& name, bool carrier) override {
    kernel_.fib().set_carrier(name, carrier);
  }
  void add_address(const std::string& name, const std::string& text) override {
    kernel_.fib().add_address(name, prefix(text));
  }
  void remove_address(const std::string& name, const std::string& text) override {
    kernel_.fib().remove_address(name, prefix(text));
  }
  void shrink_event_queue() override { kernel_.faults.event_limit = 3; }

 private:
  FakeKernel kernel_;
  uint32_t next_ifindex_ = 2;
};

}  // namespace

std::unique_ptr<World> make_fake_world() {
  return std::make_unique<FakeWorld>();
}

}  // namespace waypost::kernel_sync
