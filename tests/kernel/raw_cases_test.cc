// KERNEL.md's cases that only bytes can ask for: what the encoder never writes, and the kernel's answers to
// it. They say why the encoder writes what it writes.
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "kernel_sync/netlink/execute.h"
#include "tests/kernel/contract.h"

namespace waypost::kernel_sync {
namespace {

using netlink::MessageWriter;

class RawCases : public testing::Test {
 protected:
  RawCases()
      : world_(make_real_world()),
        executor_(std::move(netlink::Executor::open()).value()),
        e0_(world_->index("e0")) {
    EXPECT_EQ("ok",
              world_->run({add(via(1, "10.7.0.2", e0_)), add(via(2, "10.7.1.2", world_->index("e1")))}));
  }

  // RTM_NEWNEXTHOP with these flags, this header and these attributes.
  std::string ask(uint16_t flags, const nhmsg& header,
                  const std::function<void(MessageWriter&)>& attributes) {
    const auto reply = executor_.ask([&](uint32_t sequence, std::vector<uint8_t>& out) {
      MessageWriter writer(out);
      writer.begin(RTM_NEWNEXTHOP, static_cast<uint16_t>(NLM_F_REQUEST | flags), sequence);
      writer.fixed(header);
      attributes(writer);
      writer.end();
    });
    return reply ? answer_text(reply->error, reply->words) : reply.error().message;
  }
  std::string ask_group(const std::vector<nexthop_grp>& members,
                        const std::function<void(MessageWriter&)>& more) {
    return ask(NLM_F_CREATE | NLM_F_REPLACE, {}, [&](MessageWriter& writer) {
      writer.integer<uint32_t>(NHA_ID, 20);
      writer.attribute(
          NHA_GROUP, {reinterpret_cast<const uint8_t*>(members.data()), members.size() * sizeof members[0]});
      more(writer);
    });
  }
  std::function<void(MessageWriter&)> device_nexthop(std::optional<uint32_t> id) {
    return [=, this](MessageWriter& writer) {
      if (id) writer.integer<uint32_t>(NHA_ID, *id);
      writer.integer<uint32_t>(NHA_OIF, e0_);
    };
  }

  std::unique_ptr<World> world_;
  netlink::Executor executor_;
  uint32_t e0_;
  const nhmsg ipv4_ = {AF_INET, 0, 0, 0, 0};
};

constexpr auto kNothing = [](MessageWriter&) {};

// Cases 13 and 14, KERNEL.md K7: REPLACE alone misses what is absent, and no flag at all creates.
TEST_F(RawCases, WhatTheFlagsMean) {
  EXPECT_EQ("ENOENT Replace specified without create and no entry exists",
            ask(NLM_F_REPLACE, ipv4_, device_nexthop(50)));
  EXPECT_EQ("ok", ask(0, ipv4_, device_nexthop(50)));
  EXPECT_EQ("EEXIST File exists", ask(0, ipv4_, device_nexthop(50)));
}

// Case 21, KERNEL.md K1: id 0 means that the kernel chooses, which is why it is never passed.
TEST_F(RawCases, TheKernelChoosesIds) {
  EXPECT_EQ("ok", ask(NLM_F_CREATE, ipv4_, device_nexthop(std::nullopt)));
  EXPECT_EQ("ok", ask(NLM_F_CREATE, ipv4_, device_nexthop(0)));
  EXPECT_EQ(4u, describe_nexthops(world_->kernel()).size());
}

// Cases 30 and 2: a group with a device; a nexthop of no family.
TEST_F(RawCases, FamiliesAndGroups) {
  EXPECT_EQ(
      "EINVAL No other attributes can be set in nexthop groups",
      ask_group({{1, 0, 0, 0}}, [&](MessageWriter& writer) { writer.integer<uint32_t>(NHA_OIF, e0_); }));
  EXPECT_EQ("EINVAL Invalid family for group", ask(NLM_F_CREATE, ipv4_, [](MessageWriter& writer) {
              writer.integer<uint32_t>(NHA_ID, 20);
              const nexthop_grp member = {1, 0, 0, 0};
              writer.attribute(NHA_GROUP, {reinterpret_cast<const uint8_t*>(&member), sizeof member});
            }));
  EXPECT_EQ("EINVAL Invalid address family", ask(NLM_F_CREATE, {}, device_nexthop(50)));
}

// Cases 31, 33 and 34: a weight is stored minus one, its high byte apart; 65536 does not fit; the reserved
// field is checked.
TEST_F(RawCases, TheBytesOfAMember) {
  EXPECT_EQ("ok", ask_group({{1, 0xff, 0, 0}, {2, 0xfe, 0xff, 0}}, kNothing));
  EXPECT_EQ("id 20 group 1,256 2,65535 proto 0",
            describe(*world_->kernel().get_nexthop(NexthopId(20)).value()));
  EXPECT_EQ("EINVAL Invalid value for weight", ask_group({{1, 0xff, 0xff, 0}}, kNothing));
  EXPECT_EQ("EINVAL Reserved field in nexthop_grp must be 0", ask_group({{1, 0, 0, 1}}, kNothing));
  for (const size_t size : {0, 7}) {
    EXPECT_EQ("EINVAL Invalid length for nexthop group attribute",
              ask(NLM_F_CREATE, {}, [&](MessageWriter& writer) {
                writer.integer<uint32_t>(NHA_ID, 21);
                writer.attribute(NHA_GROUP, std::vector<uint8_t>(size));
              }));
  }
}

// Case 69: what strict checking refuses.
TEST_F(RawCases, WhatStrictCheckingRefuses) {
  nhmsg scope = ipv4_;
  scope.nh_scope = 1;
  EXPECT_EQ("EINVAL Invalid values in ancillary header", ask(NLM_F_CREATE, scope, device_nexthop(50)));
  nhmsg flags = ipv4_;
  flags.nh_flags = 0x40;
  EXPECT_EQ("EINVAL Invalid nexthop flags in ancillary header", ask(NLM_F_CREATE, flags, device_nexthop(50)));
  EXPECT_EQ("EINVAL Unknown attribute type", ask(NLM_F_CREATE, ipv4_, [&](MessageWriter& writer) {
              device_nexthop(50)(writer);
              writer.integer<uint32_t>(200, 1);
            }));
  EXPECT_EQ("EINVAL Invalid group type", ask_group({{1, 0, 0, 0}}, [](MessageWriter& writer) {
              writer.integer<uint16_t>(NHA_GROUP_TYPE, 7);
            }));
}

}  // namespace
}  // namespace waypost::kernel_sync
