// A place to try the Kernel interface in, once with the running kernel and once with the fake: a fresh
// network namespace with lo, the veth devices e0 and e1 (up, with carrier) and the addresses of KERNEL.md's
// cases:
//
//   e0  10.7.0.1/24  2001:db8:70::1/64        e1  10.7.1.1/24  2001:db8:71::1/64
//
// IPv6 link-local addresses and duplicate address detection are off, so that both worlds hold the same rows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernel_sync/kernel.h"

namespace waypost::kernel_sync {

enum class Engine { kReal, kFake };

class World {
 public:
  virtual ~World() = default;

  virtual Engine engine() const = 0;
  virtual Kernel& kernel() = 0;
  // Steps by somebody else: announced to kernel().
  virtual BatchOutcome foreign(const std::vector<KernelStep>& steps) = 0;
  // `ip route append` by somebody else: "ok", or what the kernel says.
  virtual std::string foreign_append(const KernelRoute& route) = 0;

  virtual void add_link(const std::string& name) = 0;  // up, with carrier, no addresses
  virtual void remove_link(const std::string& name) = 0;
  virtual void rename_link(const std::string& name, const std::string& to) = 0;
  virtual void set_up(const std::string& name, bool up) = 0;
  virtual void set_carrier(const std::string& name, bool carrier) = 0;
  // With host bits: "10.7.0.1/24".
  virtual void add_address(const std::string& name, const std::string& address) = 0;
  virtual void remove_address(const std::string& name, const std::string& address) = 0;
  // From here on the event queue holds next to nothing.
  virtual void shrink_event_queue() = 0;

  // Everything announced since the last call.
  std::vector<KernelEvent> events();
  uint32_t index(const std::string& name);
  // One step of ours: "ok", or "EINVAL Nexthop id does not exist".
  std::string run(const KernelStep& step);
  // The same, several in one batch; the first that fails.
  std::string run(const std::vector<KernelStep>& steps);
};

struct RealOptions {
  bool forwards = false;          // a host that does not forward IPv6 looks at its neighbours when it chooses
  bool separate_metrics = false;  // of kernel(), from the start
};

// Needs root; kept in the thread that makes it, which is back in its own namespace after the World is gone.
std::unique_ptr<World> make_real_world(RealOptions options = {});
std::unique_ptr<World> make_fake_world();
std::unique_ptr<World> make_world(Engine engine);

std::string engine_name(Engine engine);
std::string answer_text(int error, const std::string& words);

// One line for each object, as short as can be told apart: what tests compare.
std::string describe(const KernelNexthop& nexthop);
std::string describe(const KernelRoute& route);
std::string describe(const KernelEvent& event);
// Everything the kernel shows, sorted; routes without those that the kernel itself keeps (protocol kernel).
std::vector<std::string> describe_nexthops(Kernel& kernel);
std::vector<std::string> describe_routes(Kernel& kernel);
std::vector<std::string> describe_events(World& world);

}  // namespace waypost::kernel_sync
