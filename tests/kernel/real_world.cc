#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "kernel_sync/netlink/netlink_kernel.h"
#include "tests/kernel/build.h"
#include "tests/kernel/namespace_guard.h"
#include "tests/kernel/world.h"

namespace waypost::kernel_sync {

namespace {

void ip(const std::string& arguments) {
  const std::string command = "ip " + arguments;
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

void set(const std::string& sysctl, int value) {
  std::ofstream file("/proc/sys/net/" + sysctl);
  file << value << std::endl;
  if (!file) throw std::runtime_error("cannot set " + sysctl);
}

// The other end of the veth pair: e0's is e0p.
std::string peer(const std::string& name) {
  return name + "p";
}

class RealWorld final : public World {
 public:
  explicit RealWorld(RealOptions options) {
    if (options.forwards) set("ipv6/conf/all/forwarding", 1);
    set("ipv6/conf/default/addr_gen_mode", 1);
    set("ipv6/conf/default/accept_dad", 0);
    set("ipv6/conf/all/accept_dad", 0);
    set("ipv6/conf/default/accept_ra", 0);
    ip("link set lo up");
    NetlinkOptions ours;
    ours.separate_metrics = options.separate_metrics;
    open_kernels(ours);
    for (const int i : {0, 1}) {
      const std::string number = std::to_string(i);
      add_link("e" + number);
      add_address("e" + number, "10.7." + number + ".1/24");
      add_address("e" + number, "2001:db8:7" + number + "::1/64");
    }
    events();
  }

  Engine engine() const override { return Engine::kReal; }
  Kernel& kernel() override { return *ours_; }
  BatchOutcome foreign(const std::vector<KernelStep>& steps) override { return theirs_->execute(steps); }

  std::string foreign_append(const KernelRoute& row) override {
    const Route& route = row.route;
    const bool ipv6 = route.key.prefix.family() == Family::kIpv6;
    std::string command = std::string("ip ") + (ipv6 ? "-6" : "-4") + " route append " +
                          to_string(route.key.prefix) + " table " + std::to_string(route.key.table.value()) +
                          " metric " + std::to_string(route.key.metric) + " proto " +
                          std::to_string(route.protocol);
    if (route.nexthop.value() != 0) command += " nhid " + std::to_string(route.nexthop.value());
    for (const KernelPath& path : row.paths) {
      command += " via " + to_string(path.gateway.value());
    }
    command += " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    char line[256] = {};
    const bool said = fgets(line, sizeof line, pipe) != nullptr;
    const int status = pclose(pipe);
    return status == 0 ? "ok" : said ? line : "failed";
  }

  void add_link(const std::string& name) override {
    ip("link add " + name + " type veth peer name " + peer(name));
    ip("link set " + peer(name) + " up");
    ip("link set " + name + " up");
    settle(name);
  }
  void remove_link(const std::string& name) override { ip("link del " + name); }
  void rename_link(const std::string& name, const std::string& to) override {
    ip("link set " + name + " name " + to);
  }
  void set_up(const std::string& name, bool up) override {
    ip("link set " + name + (up ? " up" : " down"));
    settle(name);
  }
  void set_carrier(const std::string& name, bool carrier) override {
    ip("link set " + peer(name) + (carrier ? " up" : " down"));
    settle(name);
  }
  void add_address(const std::string& name, const std::string& text) override {
    const bool ipv6 = text.find(':') != std::string::npos;
    ip("addr add " + text + " dev " + name + (ipv6 ? " nodad" : ""));
    if (ipv6) wait_until_local(prefix(text).address);
  }
  void remove_address(const std::string& name, const std::string& text) override {
    ip("addr del " + text + " dev " + name);
  }
  void shrink_event_queue() override {
    NetlinkOptions options;
    options.event_buffer_bytes = 2'048;
    open_kernels(options);
  }

 private:
  void open_kernels(const NetlinkOptions& options) {
    NetlinkOptions blind;
    blind.watch = false;
    blind.separate_metrics = true;
    ours_ = std::move(open_netlink_kernel(options)).value();
    theirs_ = std::move(open_netlink_kernel(blind)).value();
  }

  // An IPv6 address gets its row in the local table a little later, on a work queue.
  void wait_until_local(const IpAddress& wanted) {
    for (int i = 0; i < 1'000; ++i) {
      const auto row = theirs_->lookup(wanted).value();
      if (row && row->route.key.table == kLocalTable) return;
      usleep(1'000);
    }
    throw std::runtime_error(to_string(wanted) + " does not become local");
  }

  // The kernel carries out a change of carrier a little later, on a work queue. Asking for the link state the
  // old way makes it do so at once.
  static void settle(const std::string& name) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (const std::string& end : {name, peer(name)}) {
      ethtool_value value = {};
      value.cmd = ETHTOOL_GLINK;
      ifreq request = {};
      std::strncpy(request.ifr_name, end.c_str(), sizeof request.ifr_name - 1);
      request.ifr_data = reinterpret_cast<char*>(&value);
      ioctl(fd, SIOCETHTOOL, &request);
    }
    close(fd);
  }

  NamespaceGuard guard_;  // first, so that all else goes before the thread leaves
  std::unique_ptr<Kernel> ours_;
  std::unique_ptr<Kernel> theirs_;
};

}  // namespace

std::unique_ptr<World> make_real_world(RealOptions options) {
  return std::make_unique<RealWorld>(options);
}

}  // namespace waypost::kernel_sync
