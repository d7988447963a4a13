// usage: route_watch [--prefixes FILE] [--packets FILE --devices A,B [--trap C] [--rate N]]
//
// Watches, from beside, that routes which are always wanted are always there; until SIGTERM or SIGINT, then
// prints one line and exits with 1 where something was missing:
//
//   looks N missing N sent N received N trapped N refused N
//
// looks     the kernel was asked for a prefix of FILE (main table, default metric): an IPv4 one by the
// longest match
//           (RTM_F_FIB_MATCH); one that a longer prefix hides, and an IPv6 one, whose lookups may name
//           another route of the same nexthop, by a probe of its key
// sent      UDP datagrams to the first address of each prefix of FILE in turn; received: seen at the far ends
// of the
//           uplinks; trapped: seen at the far end of a less specific way; refused: the kernel had no way
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "kernel_sync/netlink/encode.h"
#include "kernel_sync/netlink/netlink_kernel.h"
#include "kernel_sync/netlink/query.h"
#include "kernel_sync/netlink/wire.h"
#include "tests/kernel/build.h"

namespace {

using namespace waypost;
using namespace waypost::kernel_sync;

constexpr uint16_t kPort = 40'000;
constexpr size_t kReported = 20;

volatile std::sig_atomic_t stopping = 0;

[[noreturn]] void fail(const std::string& words) {
  std::fprintf(stderr, "error: %s\n", words.c_str());
  std::exit(2);
}

std::vector<RouteKey> keys_of(const char* file) {
  std::vector<RouteKey> keys;
  std::ifstream lines(file);
  if (!lines) fail(std::string("cannot read ") + file);
  for (std::string line; std::getline(lines, line);) keys.push_back(key(line));
  return keys;
}

// Asks the kernel for one key after the other.
class Looks {
 public:
  explicit Looks(const char* file) : keys_(keys_of(file)) {
    auto kernel = open_netlink_kernel({.watch = false});
    auto query = netlink::Query::open();
    if (!kernel.ok() || !query.ok()) fail("netlink");
    kernel_ = std::move(*kernel);
    query_ = std::make_unique<netlink::Query>(std::move(*query));
  }

  void run() {
    for (size_t index = 0; stopping == 0; index = (index + 1) % keys_.size()) {
      ++looks;
      const std::string found = look(keys_[index]);
      if (found.empty()) continue;
      if (missing++ < kReported)
        std::fprintf(stderr, "missing: %s, the kernel says: %s\n", to_string(keys_[index]).c_str(),
                     found.c_str());
    }
  }

  uint64_t looks = 0, missing = 0;

 private:
  // Empty: it is there. Else what the kernel says.
  std::string look(const RouteKey& wanted) {
    if (wanted.prefix.family() == Family::kIpv4) {
      const auto found = kernel_->match_route(wanted.prefix.address, wanted.table);
      if (!found.ok()) return found.error().message;
      if (!*found) return "no route";
      const RouteKey& answer = (*found)->route.key;
      if (answer == wanted) return "";
      if (!wanted.prefix.contains(answer.prefix.address) || answer.prefix.length <= wanted.prefix.length)
        return "route " + to_string(answer);
    }
    const auto answer =
        query_->get([&](auto sequence, auto& out) { netlink::encode_probe_key(wanted, sequence, out); });
    if (!answer.ok()) return answer.error().message;
    return answer->failure.error == EEXIST ? "" : "error " + std::to_string(answer->failure.error);
  }

  std::vector<RouteKey> keys_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<netlink::Query> query_;
};

// Counts our datagrams on one device.
class Tap {
 public:
  explicit Tap(const std::string& device) : fd_(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    const int bytes = 64 << 20;
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    sockaddr_ll address = {};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(if_nametoindex(device.c_str()));
    if (address.sll_ifindex == 0) fail("no device " + device);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail("bind to " + device);
  }
  Tap(const Tap&) = delete;
  Tap& operator=(const Tap&) = delete;
  ~Tap() { close(fd_); }

  // What has come; the first payload that `show` is to name.
  void drain(bool show, const std::vector<RouteKey>& keys) {
    uint8_t packet[256];
    while (true) {
      sockaddr_ll from = {};
      socklen_t length = sizeof from;
      const ssize_t got =
          recvfrom(fd_, packet, sizeof packet, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&from), &length);
      if (got < 0 && errno == ENETDOWN) continue;  // said once, when the link goes down
      if (got < 0) return;
      const size_t header = from.sll_protocol == htons(ETH_P_IP) ? 20 : 40;
      if (from.sll_pkttype == PACKET_OUTGOING || static_cast<size_t>(got) < header + 8 + 4) continue;
      const size_t next_protocol = header == 20 ? 9 : 6;
      if (packet[next_protocol] != IPPROTO_UDP || packet[header + 2] != kPort >> 8 ||
          packet[header + 3] != (kPort & 255))
        continue;
      ++count;
      uint32_t index = 0;
      std::memcpy(&index, packet + header + 8, sizeof index);
      if (show && count <= kReported && index < keys.size())
        std::fprintf(stderr, "trapped: a packet to %s\n", to_string(keys[index].prefix).c_str());
    }
  }

  uint64_t count = 0;

 private:
  int fd_;
};

// Sends in bursts, a thousand times a second.
class Stream {
 public:
  Stream(const char* file, const std::vector<std::string>& devices, const std::string& trap, uint64_t rate)
      : keys_(keys_of(file)), per_burst_(std::max<uint64_t>(rate / 1'000, 1)) {
    for (const std::string& device : devices) taps_.push_back(std::make_unique<Tap>(device));
    if (!trap.empty()) trap_ = std::make_unique<Tap>(trap);
    v4_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    v6_ = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  }

  void run() {
    uint32_t index = 0;
    while (stopping == 0) {
      for (uint64_t count = 0; count < per_burst_; ++count, index = (index + 1) % keys_.size()) send(index);
      drain();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // On a busy machine the last ones are still on their way.
    for (int look = 0; look < 25 && received() + trapped() + refused < sent; ++look) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      drain();
    }
  }

  uint64_t received() const {
    uint64_t all = 0;
    for (const auto& tap : taps_) all += tap->count;
    return all;
  }
  uint64_t trapped() const { return trap_ ? trap_->count : 0; }
  uint64_t sent = 0, refused = 0;

 private:
  void drain() {
    for (const auto& tap : taps_) tap->drain(false, keys_);
    if (trap_) trap_->drain(true, keys_);
  }

  void send(uint32_t index) {
    const IpAddress& to = keys_[index].prefix.address;
    sockaddr_in v4 = {};
    sockaddr_in6 v6 = {};
    const bool is_v4 = to.family == Family::kIpv4;
    v4.sin_family = AF_INET;
    v6.sin6_family = AF_INET6;
    v4.sin_port = v6.sin6_port = htons(kPort);
    std::memcpy(&v4.sin_addr, to.bytes.data(), 4);
    std::memcpy(&v6.sin6_addr, to.bytes.data(), 16);
    const sockaddr* address =
        is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    ++sent;
    if (sendto(is_v4 ? v4_ : v6_, &index, sizeof index, 0, address, is_v4 ? sizeof v4 : sizeof v6) >= 0)
      return;
    if (refused++ < kReported)
      std::fprintf(stderr, "refused: a packet to %s: %s\n", to_string(to).c_str(), std::strerror(errno));
  }

  std::vector<RouteKey> keys_;
  const uint64_t per_burst_;
  std::vector<std::unique_ptr<Tap>> taps_;
  std::unique_ptr<Tap> trap_;
  int v4_ = -1, v6_ = -1;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (char c : text) c == ',' ? parts.emplace_back() : parts.back() += c;
  return parts;
}

}  // namespace

int main(int argc, char** argv) {
  std::string prefixes, packets, devices, trap;
  uint64_t rate = 2'000;
  for (int index = 1; index + 1 < argc; index += 2) {
    const std::string word = argv[index];
    if (word == "--prefixes") prefixes = argv[index + 1];
    if (word == "--packets") packets = argv[index + 1];
    if (word == "--devices") devices = argv[index + 1];
    if (word == "--trap") trap = argv[index + 1];
    if (word == "--rate") rate = std::strtoull(argv[index + 1], nullptr, 10);
  }
  if (prefixes.empty() && packets.empty()) fail("neither --prefixes nor --packets is given");
  std::unique_ptr<Looks> looks;
  std::unique_ptr<Stream> stream;
  if (!prefixes.empty()) looks = std::make_unique<Looks>(prefixes.c_str());
  if (!packets.empty()) stream = std::make_unique<Stream>(packets.c_str(), split(devices), trap, rate);
  for (int number : {SIGTERM, SIGINT}) std::signal(number, [](int) { stopping = 1; });

  std::thread looking, sending;
  if (looks) looking = std::thread([&] { looks->run(); });
  if (stream) sending = std::thread([&] { stream->run(); });
  if (looking.joinable()) looking.join();
  if (sending.joinable()) sending.join();

  const uint64_t missing = looks ? looks->missing : 0;
  std::printf("looks %lu missing %lu", looks ? looks->looks : 0, missing);
  bool whole = missing == 0;
  if (stream) {
    std::printf(" sent %lu received %lu trapped %lu refused %lu", stream->sent, stream->received(),
                stream->trapped(), stream->refused);
    whole = whole && stream->received() == stream->sent && stream->refused == 0;
  }
  std::printf("\n");
  return whole ? 0 : 1;
}
