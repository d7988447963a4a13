#include "kernel_sync/netlink/netlink_kernel.h"

#include <fcntl.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "kernel_sync/netlink/encode.h"
#include "kernel_sync/netlink/execute.h"
#include "kernel_sync/netlink/monitor.h"
#include "kernel_sync/netlink/probe.h"
#include "kernel_sync/netlink/query.h"
#include "kernel_sync/netlink/route_query.h"

namespace waypost::kernel_sync {

namespace {

using namespace netlink;

constexpr const char* kCompatModePath = "/proc/sys/net/ipv4/nexthop_compat_mode";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// The file shows the network namespace of the thread that opened it, so it is opened once, with the sockets.
FileDescriptor open_compat_mode() {
  int fd = open(kCompatModePath, O_RDWR | O_CLOEXEC);
  if (fd < 0) fd = open(kCompatModePath, O_RDONLY | O_CLOEXEC);
  return FileDescriptor(fd);
}

Error compat_mode_error(const char* action, int error) {
  return Error{ErrorCode::kIo,
               std::string("cannot ") + action + " " + kCompatModePath + ": " + strerrordesc_np(error),
               "in a container, set it from outside (--sysctl net.ipv4.nexthop_compat_mode=0)"};
}

Error answer_error(const ErrorReply& reply, const std::string& object) {
  return Error{
      reply.error == EPERM ? ErrorCode::kPermissionDenied : ErrorCode::kIo, object + ": " + reply.words, {}};
}

class NetlinkKernel final : public Kernel {
 public:
  NetlinkKernel(Executor executor, Query query, std::optional<Monitor> monitor, FileDescriptor wake)
      : executor_(std::move(executor)),
        query_(std::move(query)),
        monitor_(std::move(monitor)),
        wake_(std::move(wake)) {}

  BatchOutcome execute(std::span<const KernelStep> steps) override { return executor_.run(steps, counters_); }

  DumpOutcome dump_nexthops(const std::function<void(const KernelNexthop&)>& visit) override {
    return dump<KernelNexthop>(encode_dump_nexthops, decode_nexthop, visit);
  }
  DumpOutcome dump_addresses(const std::function<void(const KernelAddress&)>& visit) override {
    return dump<KernelAddress>(encode_dump_addresses, decode_address, visit);
  }
  DumpOutcome dump_links(const std::function<void(const KernelLink&)>& visit) override {
    ++counters_.link_dumps;
    return dump<KernelLink>(encode_dump_links, decode_link, visit);
  }
  DumpOutcome dump_routes(Family family, std::optional<TableId> table,
                          const std::function<void(const KernelRoute&)>& visit) override {
    return count_dump(netlink::dump_routes(query_, family, table, [&](const KernelRoute& route) {
      if (has_metrics_to_share(route)) executor_.separate_metrics();
      visit(route);
    }));
  }

  Result<std::optional<KernelNexthop>> get_nexthop(NexthopId id) override {
    return get<KernelNexthop>([&](auto sequence, auto& out) { encode_get_nexthop(id, sequence, out); },
                              decode_nexthop, ENOENT, "nexthop " + std::to_string(id.value()));
  }
  Result<std::optional<KernelLink>> get_link(std::string_view name) override {
    if (name.empty() || name.size() >= IFNAMSIZ) return std::optional<KernelLink>();
    ++counters_.link_gets;
    return get<KernelLink>([&](auto sequence, auto& out) { encode_get_link(name, sequence, out); },
                           decode_link, ENODEV, "device " + std::string(name));
  }
  Result<std::optional<KernelLink>> get_link(uint32_t ifindex) override {
    if (ifindex == 0 || ifindex > INT32_MAX) return std::optional<KernelLink>();
    ++counters_.link_gets;
    return get<KernelLink>([&](auto sequence, auto& out) { encode_get_link(ifindex, sequence, out); },
                           decode_link, ENODEV, "interface index " + std::to_string(ifindex));
  }
  Result<std::optional<KernelRoute>> match_route(const IpAddress& address, TableId table) override {
    return netlink::match_route(query_, address, table);
  }
  Result<std::optional<KernelRoute>> lookup(const IpAddress& address) override {
    return netlink::lookup(query_, address);
  }
  Result<std::optional<KernelRoute>> get_route(const RouteKey& key) override {
    return netlink::get_route(query_, key);
  }
  Result<bool> has_route(const RouteKey& key) override { return netlink::has_route(query_, key); }

  std::vector<KernelEvent> wait(int timeout_ms) override;

  void wake() override {
    const uint64_t one = 1;
    // A full counter wakes as well; nothing else can fail.
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);
  }

  Result<int> compat_mode() override;
  Status set_compat_mode(int mode) override;

  Capabilities capabilities() override {
    if (!capabilities_) capabilities_ = probe_capabilities(executor_, query_, counters_);
    return *capabilities_;
  }
  KernelCounters counters() const override { return counters_; }

 private:
  DumpOutcome count_dump(DumpOutcome outcome) {
    ++counters_.dumps;
    if (outcome == DumpOutcome::kInterrupted) ++counters_.dumps_interrupted;
    return outcome;
  }

  template <typename Object>
  DumpOutcome dump(const EncodeRequest& encode, Decoded (*decode)(const Message&, Object&),
                   const std::function<void(const Object&)>& visit) {
    Object object;
    const auto report = query_.dump(encode, [&](const Message& message) {
      const Decoded decoded = decode(message, object);
      if (decoded == Decoded::kOk) visit(object);
      return decoded != Decoded::kMalformed;
    });
    return count_dump(report.outcome);
  }

  template <typename Object>
  Result<std::optional<Object>> get(const EncodeRequest& encode, Decoded (*decode)(const Message&, Object&),
                                    int absent, const std::string& name) {
    auto answer = query_.get(encode);
    if (!answer) return answer.error();
    if (!answer->message) {
      if (answer->failure.error == absent) return std::optional<Object>();
      return answer_error(answer->failure, name);
    }
    Object object;
    if (decode(*answer->message, object) != Decoded::kOk) {
      return Error{ErrorCode::kIo, name + ": the kernel's answer makes no sense", {}};
    }
    return std::optional<Object>(std::move(object));
  }

  Executor executor_;
  Query query_;
  std::optional<Monitor> monitor_;
  FileDescriptor wake_;
  FileDescriptor compat_mode_{open_compat_mode()};
  KernelCounters counters_;
  std::optional<Capabilities> capabilities_;
};

std::vector<KernelEvent> NetlinkKernel::wait(int timeout_ms) {
  std::vector<KernelEvent> events;
  // poll passes over a negative descriptor.
  pollfd wanted[2] = {{wake_.get(), POLLIN, 0}, {monitor_ ? monitor_->fd() : -1, POLLIN, 0}};
  if (poll(wanted, 2, timeout_ms) <= 0) return events;
  if (wanted[0].revents != 0) {
    uint64_t count;
    if (read(wake_.get(), &count, sizeof count) == sizeof count) events.push_back(WakeEvent{});
  }
  if (wanted[1].revents != 0) {
    const size_t before = events.size();
    monitor_->read(events);
    counters_.events += events.size() - before;
    for (const KernelEvent& event : events) {
      if (std::holds_alternative<OverrunEvent>(event)) ++counters_.overruns;
      const auto* change = std::get_if<RouteEvent>(&event);
      if (change != nullptr && has_metrics_to_share(change->route)) executor_.separate_metrics();
    }
  }
  return events;
}

Result<int> NetlinkKernel::compat_mode() {
  char digit = 0;
  if (pread(compat_mode_.get(), &digit, 1, 0) != 1) return compat_mode_error("read", errno);
  return digit == '0' ? 0 : 1;
}

Status NetlinkKernel::set_compat_mode(int mode) {
  const char text[2] = {static_cast<char>('0' + mode), '\n'};
  if (pwrite(compat_mode_.get(), text, sizeof text, 0) != sizeof text)
    return compat_mode_error("write", errno);
  return {};
}

}  // namespace

Result<std::unique_ptr<Kernel>> open_netlink_kernel(const NetlinkOptions& options) {
  auto executor = Executor::open();
  if (!executor) return executor.error();
  auto query = Query::open();
  if (!query) return query.error();
  std::optional<Monitor> monitor;
  if (options.watch) {
    auto opened = Monitor::open(executor->port(), options.event_buffer_bytes);
    if (!opened) return opened.error();
    monitor = std::move(*opened);
  }
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (wake.get() < 0) return Error{ErrorCode::kIo, std::string("eventfd: ") + strerrordesc_np(errno), {}};
  if (options.separate_metrics) executor->separate_metrics();
  return std::unique_ptr<Kernel>(
      new NetlinkKernel(std::move(*executor), std::move(*query), std::move(monitor), std::move(wake)));
}

}  // namespace waypost::kernel_sync
