// usage: netlink_floor routes|table|eighths|withdraw|nexthops|replace [--count N] [--prefixes FILE]
// [--own-namespace]
//
// What the kernel itself costs: raw netlink and nothing of Waypost, 1,024 messages a send and one
// acknowledgement a batch. Works in the network namespace it is started in, which needs e0 and e1 (10.7.0.0
// and 10.8.0.0, 2001:db8:70::/64), or makes one of its own.
//
//   routes     adds N IPv4 routes as nhid of one two-path group; prints the milliseconds alone
//   table      adds N routes, IPv6 ones over a single nexthop; dumps them; replaces a nexthop under each
//   family; adds 51 more, each
//              for itself (the median); deletes all one by one
//   eighths    IPv4 routes under the one of --cover, in the order of the file, timed by eighths; then deleted
//   withdraw   the IPv4 ones, then takes them away: one by one, and by deleting the group
//   nexthops   N IPv6 nexthops: added, listed, flushed
//   replace    a nexthop and the group under N routes replaced, at nexthop_compat_mode 0 and 1; a member
//   deleted
//
// Prefixes come from the file, one a line, or are /24 from 20.0.0.0 on. All but routes print lines "WHAT
// MILLISECONDS".
#include <arpa/inet.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kBatch = 1'024;
constexpr uint32_t kFirstId = 1, kSecondId = 2, kGroupId = 3, kSixthId = 6;

[[noreturn]] void fail(const std::string& words) {
  std::fprintf(stderr, "error: %s\n", words.c_str());
  std::exit(1);
}

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void report(const char* what, const std::function<void()>& work) {
  std::printf("%s %.1f\n", what, milliseconds(work));
  std::fflush(stdout);
}

// A message under construction at the end of a buffer.
class Request {
 public:
  template <typename Header>
  Request(std::vector<char>& buffer, uint16_t type, uint16_t flags, const Header& header)
      : buffer_(buffer), start_(buffer.size()) {
    nlmsghdr message = {};
    message.nlmsg_type = type;
    message.nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    raw(&message, sizeof message);
    raw(&header, sizeof header);
  }
  ~Request() {
    const auto length = static_cast<uint32_t>(buffer_.size() - start_);
    std::memcpy(&buffer_[start_], &length, sizeof length);
  }
  Request& attribute(uint16_t type, const void* data, size_t size) {
    const rtattr header = {static_cast<unsigned short>(RTA_LENGTH(size)), type};
    raw(&header, sizeof header);
    raw(data, size);
    return *this;
  }
  Request& number(uint16_t type, uint32_t value) { return attribute(type, &value, sizeof value); }

 private:
  void raw(const void* data, size_t size) {
    const auto* bytes = static_cast<const char*>(data);
    buffer_.insert(buffer_.end(), bytes, bytes + size);
    buffer_.resize((buffer_.size() + 3) & ~size_t{3});
  }

  std::vector<char>& buffer_;
  size_t start_;
};

class Netlink {
 public:
  Netlink() : fd_(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE)), reply_(256u << 10) {
    const int bytes = 4 << 20;
    setsockopt(fd_, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
  }
  ~Netlink() { close(fd_); }

  // `fill(i, buffer)` appends the i-th message.
  void send_all(uint32_t count, const std::function<void(uint32_t, std::vector<char>&)>& fill) {
    std::vector<char> buffer;
    for (uint32_t i = 0; i < count;) {
      buffer.clear();
      size_t last = 0;
      for (uint32_t n = 0; n < kBatch && i < count; ++n, ++i) {
        last = buffer.size();
        fill(i, buffer);
      }
      auto* header = reinterpret_cast<nlmsghdr*>(&buffer[last]);
      header->nlmsg_flags |= NLM_F_ACK;
      if (send(fd_, buffer.data(), buffer.size(), 0) < 0) fail(std::string("send: ") + std::strerror(errno));
      wait_for_acknowledgement();
    }
  }
  void one(const std::function<void(std::vector<char>&)>& fill) {
    send_all(1, [&](uint32_t, std::vector<char>& buffer) { fill(buffer); });
  }

  // The nexthop ids of a whole dump.
  std::vector<uint32_t> list_nexthops() {
    std::vector<char> buffer;
    { Request(buffer, RTM_GETNEXTHOP, NLM_F_DUMP, nhmsg{}); }
    if (send(fd_, buffer.data(), buffer.size(), 0) < 0) fail("send");
    std::vector<uint32_t> ids;
    while (true) {
      auto left = static_cast<int>(receive());
      for (auto* message = reinterpret_cast<nlmsghdr*>(reply_.data());
           NLMSG_OK(message, static_cast<unsigned>(left)); message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return ids;
        const char* id = static_cast<char*>(NLMSG_DATA(message)) + sizeof(nhmsg) + sizeof(rtattr);
        ids.push_back(0);
        std::memcpy(&ids.back(), id, sizeof ids.back());
      }
    }
  }

  size_t count_routes(uint8_t family) {
    std::vector<char> buffer;
    rtmsg header = {};
    header.rtm_family = family;
    { Request(buffer, RTM_GETROUTE, NLM_F_DUMP, header); }
    if (send(fd_, buffer.data(), buffer.size(), 0) < 0) fail("send");
    for (size_t rows = 0;;) {
      auto left = static_cast<int>(receive());
      for (auto* message = reinterpret_cast<nlmsghdr*>(reply_.data());
           NLMSG_OK(message, static_cast<unsigned>(left)); message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR) return rows;
        ++rows;
      }
    }
  }

 private:
  ssize_t receive() {
    const ssize_t got = recv(fd_, reply_.data(), reply_.size(), 0);
    if (got < 0) fail(std::string("recv: ") + std::strerror(errno));
    return got;
  }
  void wait_for_acknowledgement() {
    receive();
    const auto* message = reinterpret_cast<const nlmsghdr*>(reply_.data());
    const auto* answer = static_cast<const nlmsgerr*>(NLMSG_DATA(message));
    if (answer->error != 0) fail(std::string("the kernel: ") + std::strerror(-answer->error));
  }

  int fd_;
  std::vector<char> reply_;
};

struct Destination {
  uint8_t family = AF_INET;
  uint8_t length = 24;
  uint8_t address[16] = {};  // network order

  size_t size() const { return family == AF_INET ? 4 : 16; }
};

Destination numbered(uint32_t network) {
  Destination one;
  const uint32_t address = htonl(network);
  std::memcpy(one.address, &address, sizeof address);
  return one;
}

std::vector<Destination> destinations(uint32_t count, const char* file) {
  std::vector<Destination> result;
  if (file == nullptr) {
    for (uint32_t i = 0; i < count; ++i) result.push_back(numbered((20u << 24) + (i << 8)));
    return result;
  }
  std::ifstream in(file);
  std::string line;
  while (result.size() < count && std::getline(in, line)) {
    const size_t slash = line.find('/');
    Destination one;
    one.family = line.find(':') == std::string::npos ? AF_INET : AF_INET6;
    one.length = one.family == AF_INET ? 32 : 128;
    if (inet_pton(one.family, line.substr(0, slash).c_str(), one.address) != 1) fail("no prefix: " + line);
    if (slash != std::string::npos) one.length = static_cast<uint8_t>(std::stoi(line.substr(slash + 1)));
    result.push_back(one);
  }
  return result;
}

uint32_t device(const char* name) {
  const uint32_t index = if_nametoindex(name);
  if (index == 0) fail(std::string("no device ") + name + " here (--own-namespace makes them)");
  return index;
}

void put_nexthop(std::vector<char>& buffer, uint32_t id, const char* gateway, const char* name) {
  nhmsg header = {};
  header.nh_family = std::strchr(gateway, ':') == nullptr ? AF_INET : AF_INET6;
  uint8_t address[16];
  inet_pton(header.nh_family, gateway, address);
  Request(buffer, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE, header)
      .number(NHA_ID, id)
      .number(NHA_OIF, device(name))
      .attribute(NHA_GATEWAY, address, header.nh_family == AF_INET ? 4 : 16);
}

void put_group(std::vector<char>& buffer, const std::vector<uint32_t>& members) {
  std::vector<nexthop_grp> entries(members.size());
  for (size_t i = 0; i < members.size(); ++i) entries[i].id = members[i];
  Request(buffer, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE, nhmsg{})
      .number(NHA_ID, kGroupId)
      .attribute(NHA_GROUP, entries.data(), entries.size() * sizeof entries[0]);
}

void delete_nexthop(std::vector<char>& buffer, uint32_t id) {
  Request(buffer, RTM_DELNEXTHOP, 0, nhmsg{}).number(NHA_ID, id);
}

void route(std::vector<char>& buffer, bool add, const Destination& to) {
  rtmsg header = {};
  header.rtm_family = to.family;
  header.rtm_dst_len = to.length;
  header.rtm_table = RT_TABLE_MAIN;
  header.rtm_protocol = add ? RTPROT_STATIC : RTPROT_UNSPEC;
  header.rtm_scope = add ? RT_SCOPE_UNIVERSE : RT_SCOPE_NOWHERE;
  header.rtm_type = add ? RTN_UNICAST : RTN_UNSPEC;
  Request request(buffer, add ? RTM_NEWROUTE : RTM_DELROUTE, add ? NLM_F_CREATE | NLM_F_REPLACE : 0, header);
  request.attribute(RTA_DST, to.address, to.size());
  if (add) request.number(RTA_NH_ID, to.family == AF_INET ? kGroupId : kSixthId);
}

class Floor {
 public:
  Floor(uint32_t count, const char* file) : count_(count), file_(file) {}

  void add_group() {
    kernel_.one([](auto& buffer) { put_nexthop(buffer, kFirstId, "10.7.0.2", "e0"); });
    kernel_.one([](auto& buffer) { put_nexthop(buffer, kSecondId, "10.8.0.2", "e1"); });
    kernel_.one([](auto& buffer) { put_group(buffer, {kFirstId, kSecondId}); });
    kernel_.one([](auto& buffer) { put_nexthop(buffer, kSixthId, "2001:db8:70::2", "e0"); });
    routes_ = destinations(count_, file_);
  }
  void add_routes() {
    kernel_.send_all(static_cast<uint32_t>(routes_.size()),
                     [&](uint32_t i, auto& buffer) { route(buffer, true, routes_[i]); });
  }

  // In file order, each eighth timed; then all deleted.
  void eighths(const char* cover) {
    add_group();
    Destination wide;
    const std::string text = cover;
    const size_t slash = text.find('/');
    if (slash == std::string::npos || inet_pton(AF_INET, text.substr(0, slash).c_str(), wide.address) != 1)
      fail("no prefix: " + text);
    wide.length = static_cast<uint8_t>(std::stoi(text.substr(slash + 1)));
    kernel_.one([&](auto& buffer) { route(buffer, true, wide); });
    const uint32_t eighth = static_cast<uint32_t>(routes_.size()) / 8;
    for (uint32_t part = 0; part < 8; ++part)
      report(("eighth-" + std::to_string(part + 1)).c_str(), [&] {
        kernel_.send_all(eighth,
                         [&](uint32_t i, auto& buffer) { route(buffer, true, routes_[part * eighth + i]); });
      });
    report("delete", [&] { delete_routes(); });
  }
  void delete_routes() {
    kernel_.send_all(static_cast<uint32_t>(routes_.size()),
                     [&](uint32_t i, auto& buffer) { route(buffer, false, routes_[i]); });
  }

  void routes() {
    add_group();
    std::printf("%.0f\n", milliseconds([&] { add_routes(); }));
  }
  void table() {
    add_group();
    report("add", [&] { add_routes(); });
    report("dump", [&] {
      const size_t rows = kernel_.count_routes(AF_INET) + kernel_.count_routes(AF_INET6);
      if (rows < routes_.size()) fail("the dumps hold " + std::to_string(rows) + " routes");
    });
    replace_in_modes("replace-nexthop", "10.7.0.3", kFirstId);
    replace_in_modes("replace-nexthop-ipv6", "2001:db8:70::3", kSixthId);
    std::vector<double> times;
    for (uint32_t turn = 0; turn < 51; ++turn) {
      const Destination to = numbered((198u << 24) + (18u << 16) + (turn << 8));
      times.push_back(milliseconds([&] { kernel_.one([&](auto& buffer) { route(buffer, true, to); }); }));
    }
    std::sort(times.begin(), times.end());
    std::printf("one %.3f\n", times[times.size() / 2]);
    report("delete-one-by-one", [&] { delete_routes(); });
  }
  void withdraw() {
    add_group();
    report("add", [&] { add_routes(); });
    report("delete-one-by-one", [&] { delete_routes(); });
    add_routes();
    report("delete-the-group", [&] { kernel_.one([](auto& buffer) { delete_nexthop(buffer, kGroupId); }); });
  }
  void nexthops() {
    const uint32_t ifindex = device("e0");
    report("add", [&] {
      kernel_.send_all(count_, [&](uint32_t i, auto& buffer) {
        nhmsg header = {};
        header.nh_family = AF_INET6;
        in6_addr gateway;
        inet_pton(AF_INET6, "2001:db8:70::", &gateway);
        const uint32_t host = htonl(i + 2);
        std::memcpy(&gateway.s6_addr[12], &host, sizeof host);
        Request(buffer, RTM_NEWNEXTHOP, NLM_F_CREATE | NLM_F_REPLACE, header)
            .number(NHA_ID, i + 1)
            .number(NHA_OIF, ifindex)
            .attribute(NHA_GATEWAY, &gateway, sizeof gateway);
      });
    });
    std::vector<uint32_t> ids;
    report("list", [&] { ids = kernel_.list_nexthops(); });
    if (ids.size() < count_) fail("the dump holds " + std::to_string(ids.size()) + " nexthops");
    report("flush", [&] {
      kernel_.send_all(static_cast<uint32_t>(ids.size()),
                       [&](uint32_t i, auto& buffer) { delete_nexthop(buffer, ids[i]); });
    });
  }
  void replace() {
    add_group();
    add_routes();
    for (const int mode : {0, 1}) {
      std::ofstream("/proc/sys/net/ipv4/nexthop_compat_mode") << mode << std::flush;
      const std::string suffix = "-mode-" + std::to_string(mode);
      report(("replace-nexthop" + suffix).c_str(),
             [&] { kernel_.one([](auto& buffer) { put_nexthop(buffer, kFirstId, "10.7.0.3", "e0"); }); });
      report(("replace-group" + suffix).c_str(), [&] {
        kernel_.one([](auto& buffer) { put_group(buffer, {kSecondId, kFirstId}); });
      });
      report(("delete-member" + suffix).c_str(),
             [&] { kernel_.one([](auto& buffer) { delete_nexthop(buffer, kFirstId); }); });
      kernel_.one([](auto& buffer) { put_nexthop(buffer, kFirstId, "10.7.0.2", "e0"); });
      kernel_.one([](auto& buffer) { put_group(buffer, {kFirstId, kSecondId}); });
    }
  }

 private:
  void replace_in_modes(const std::string& what, const char* gateway, uint32_t id) {
    for (const int mode : {1, 0}) {
      std::ofstream("/proc/sys/net/ipv4/nexthop_compat_mode") << mode << std::flush;
      report((what + "-mode-" + std::to_string(mode)).c_str(),
             [&] { kernel_.one([&](auto& buffer) { put_nexthop(buffer, id, gateway, "e0"); }); });
    }
  }

  Netlink kernel_;
  uint32_t count_;
  const char* file_;
  std::vector<Destination> routes_;
};

void make_namespace() {
  if (unshare(CLONE_NEWNET) != 0) fail("a network namespace needs root");
  const int status = std::system(
      "ip link set lo up && for i in 0 1; do ip link add e$i type veth peer name p$i && ip link set e$i up "
      "&& "
      "ip link set p$i up; done && ip addr add 10.7.0.1/16 dev e0 && ip addr add 10.8.0.1/16 dev e1 && "
      "ip -6 addr add 2001:db8:70::1/64 dev e0 nodad && echo 0 >/proc/sys/net/ipv4/nexthop_compat_mode");
  if (status != 0) fail("the namespace could not be set up");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  uint32_t count = 100'000;
  const char* file = nullptr;
  const char* cover = "10.37.96.0/20";
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--own-namespace") {
      make_namespace();
    } else if (word == "--count" && i + 1 < argc) {
      count = static_cast<uint32_t>(std::strtoul(argv[++i], nullptr, 10));
    } else if (word == "--cover" && i + 1 < argc) {
      cover = argv[++i];
    } else if (word == "--prefixes" && i + 1 < argc) {
      file = argv[++i];
    } else {
      fail("unknown word: " + word);
    }
  }
  if (command != "routes" && command != "table" && command != "eighths" && command != "withdraw" &&
      command != "nexthops" && command != "replace") {
    fail(
        "usage: netlink_floor routes|table|eighths|withdraw|nexthops|replace [--count N] [--prefixes FILE] "
        "[--own-namespace]");
  }
  Floor floor(count, file);
  if (command == "routes") floor.routes();
  if (command == "table") floor.table();
  if (command == "eighths") floor.eighths(cover);
  if (command == "withdraw") floor.withdraw();
  if (command == "nexthops") floor.nexthops();
  if (command == "replace") floor.replace();
  return 0;
}
