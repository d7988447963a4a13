// What a healthy daemon does not show: lost connections in the middle of a batch, nodes that are behind, rows
// that no kernel takes, damaged answers. The server's side is scripted.
#include <gtest/gtest.h>

#include "model/limits.h"
#include "model/row_codec.h"
#include "tests/cli/scripted_remote.h"

namespace waypost::cli {
namespace {

std::string routes(int first, int count) {
  std::string lines;
  for (int i = first; i < first + count; ++i)
    lines += "route add 10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24 nhid 1\n";
  return lines;
}

rpc::Submitted refused_at(uint32_t index, Revision revision) {
  rpc::Submitted submitted;
  submitted.answer = {.revision = revision,
                      .applied = index,
                      .skipped = 0,
                      .refusals = {{index, {RefusalCode::kRouteExists, {"10.9.9.0/24"}}}},
                      .assigned_ids = {}};
  return submitted;
}

// Several transactions are under way when the first one is refused; those behind are chained, refused with
// it, and the batch says one error at the right line.
TEST(Scripted, ABatchStopsAtItsFirstRefusalThoughOthersAreUnderWay) {
  Script script;
  script.apply = [&script](const Transaction& transaction) -> Result<rpc::Submitted> {
    if (script.transactions.size() == 2) return refused_at(5, Revision(2));
    if (script.transactions.size() > 2) {
      EXPECT_TRUE(transaction.chained);
      return describe({RefusalCode::kPreviousIncomplete, {"2"}});
    }
    rpc::Submitted submitted;
    submitted.answer.applied = static_cast<uint32_t>(transaction.commands.size());
    submitted.answer.revision = Revision(1);
    return submitted;
  };
  const Printed printed = run_scripted(script, "-batch -", routes(0, 5'000));
  EXPECT_EQ(printed.code, kExitRefused);
  EXPECT_EQ(printed.err,
            "error: standard input:1030:11: route 10.9.9.0/24 exists already\n"
            "hint: `replace` overwrites it\n"
            "applied 1,029 lines, refused 1, revision 2\n");
  EXPECT_FALSE(script.transactions[0].chained);
  EXPECT_GT(script.transactions.size(), 2u);
}

TEST(Scripted, ABatchThatLosesItsServerSaysHowFarItCame) {
  for (const auto& [code, exit] : {std::pair{ErrorCode::kUnavailable, kExitNoConnection},
                                   std::pair{ErrorCode::kOutcomeUnknown, kExitUnknown},
                                   std::pair{ErrorCode::kPermissionDenied, kExitNotAuthorised}}) {
    Script script;
    script.apply = [&script, code = code](const Transaction& transaction) -> Result<rpc::Submitted> {
      if (script.transactions.size() > 2) return Error{code, "the server is gone", "start it"};
      rpc::Submitted submitted;
      submitted.answer.applied = static_cast<uint32_t>(transaction.commands.size());
      submitted.answer.revision = Revision(script.transactions.size());
      return submitted;
    };
    const Printed printed = run_scripted(script, "-batch - -force", routes(0, 4'000));
    EXPECT_EQ(printed.code, exit);
    EXPECT_EQ(printed.err,
              "error: standard input:2049:11: lines 2049 to 3072: the server is gone\n"
              "hint: start it\n"
              "applied 2,048 lines, refused 1, revision 2\n");
  }
}

// Lines with many paths make many rows: their transactions are cut so that the store takes them.
TEST(Scripted, TransactionsStayWithinTheStoresBounds) {
  std::string lines;
  for (int i = 0; i < 1'000; ++i) {
    lines += "route add 10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
    for (int path = 0; path < 60; ++path)
      lines += " nexthop via 10.0.0." + std::to_string(path + 1) + " dev e0";
    lines += "\n";
  }
  Script script;
  const Printed printed = run_scripted(script, "-batch -", lines);
  EXPECT_EQ(printed.code, kExitOk) << printed.err;
  size_t commands = 0;
  for (const Transaction& transaction : script.transactions) {
    size_t rows = 0;
    for (const Command& command : transaction.commands) rows += std::get<PutRoute>(command).paths.size() + 2;
    commands += transaction.commands.size();
    EXPECT_LE(rows, limits::kMaxChangesPerTransaction);
    EXPECT_LE(encode(transaction).size(), limits::kMaxProposalBytes);
  }
  EXPECT_EQ(commands, 1'000u);
}

TEST(Scripted, AtomicIsRefusedByCountBeforeAnythingIsSent) {
  Script script;
  const Printed printed = run_scripted(script, "-batch - --atomic", routes(0, 20'000));
  EXPECT_EQ(printed.code, kExitRefused);
  EXPECT_EQ(printed.err.substr(0, printed.err.find('\n')),
            "error: one transaction takes at most 16,384 changes, and standard input holds 20,000");
  EXPECT_TRUE(script.transactions.empty());
}

// Three nodes; `--wait=fib` asks all of them.
Script three_nodes(const std::vector<bool>& reached, uint64_t not_installed = 0) {
  Script script;
  script.answer = [](const rpc::Request& request, const auto&) -> Result<rpc::End> {
    rpc::End end;
    if (request.has_members()) {
      for (int i = 1; i <= 3; ++i) {
        rpc::Member& member = *end.mutable_members()->add_members();
        member.set_name("n" + std::to_string(i));
        member.set_address("10.0.0." + std::to_string(i) + ":7601");
        member.set_live(true);
      }
    }
    return end;
  };
  for (size_t i = 0; i < reached.size(); ++i) {
    const bool answer = reached[i];
    const bool bad = i == 1 && not_installed > 0;
    script.others["10.0.0." + std::to_string(i + 1) + ":7601"] = [=](const rpc::Request& request,
                                                                     const auto&) -> Result<rpc::End> {
      rpc::End end;
      end.mutable_fib_wait()->set_reached(answer);
      if (!bad || request.fib_wait().route_keys_size() == 0) return end;
      end.mutable_fib_wait()->set_not_installed_count(not_installed);
      rpc::RowReport& row = *end.mutable_fib_wait()->add_not_installed();
      row.set_is_route(true);
      row.set_route_key(request.fib_wait().route_keys(0));
      row.set_state(2);
      row.set_reason("device eth7 does not exist");
      return end;
    };
  }
  return script;
}

TEST(Scripted, WaitingForTheFibAsksAllNodes) {
  Script all = three_nodes({true, true, true});
  EXPECT_EQ(run_scripted(all, "route add 10.0.0.0/8 nhid 1 --wait=fib").code, kExitOk);

  Script behind = three_nodes({true, false, true});
  const Printed printed = run_scripted(behind, "route add 10.0.0.0/8 nhid 1 --wait=fib");
  EXPECT_EQ(printed.code, kExitUnknown);
  EXPECT_EQ(printed.err.substr(0, printed.err.find('\n')),
            "error: stored at revision 1; 2 of 3 nodes have it");
  EXPECT_EQ(run_scripted(behind, "route add 10.0.0.0/8 nhid 1 --wait=fib:60%").code, kExitOk);
}

TEST(Scripted, StoredButNotInstallableIsSaidWithTheNodeAndTheReason) {
  Script script = three_nodes({true, true, true}, 3);
  const Printed printed = run_scripted(script, "route add 10.0.0.0/8 nhid 1 --wait=fib");
  EXPECT_EQ(printed.code, kExitNotInstallable);
  EXPECT_EQ(printed.err.substr(0, printed.err.find('\n')),
            "error: stored at revision 1; not installable on n2: route 10.0.0.0/8: pending, device eth7 does "
            "not exist "
            "(and 2 more)");
  EXPECT_EQ(run_scripted(script, "-batch - --wait=fib", routes(0, 20'000)).code, kExitNotInstallable);
}

// One change set with a nexthop, a route over an interned path, and a deleted route.
rpc::ChangeSet some_changes() {
  rpc::ChangeSet set;
  set.set_revision(7);
  set.set_time_us(1'700'000'000'123'456);
  const auto add = [&set](uint32_t table, std::string key, std::string old_value, std::string new_value) {
    rpc::Change& change = *set.add_changes();
    change.set_table(table);
    change.set_key(std::move(key));
    change.set_old_value(std::move(old_value));
    change.set_new_value(std::move(new_value));
  };
  const auto nexthop_key = [](uint32_t id) {
    std::string key;
    append_nexthop_key(key, NexthopId(id));
    return key;
  };
  NexthopObject object{.id = NexthopId(5), .protocol = 0, .body = Nexthop{}};
  std::get<Nexthop>(object.body).gateway = *parse_address("10.0.0.5");
  std::get<Nexthop>(object.body).device = "e0";
  const std::string value = encode_nexthop_value(object);
  add(rpc::NEXTHOP, nexthop_key(5), "", value);
  add(rpc::NEXTHOP, nexthop_key(0x80000001), "", value);  // interned: not shown
  append_row(*set.mutable_nexthops(), nexthop_key(0x80000001), value);
  Route route;
  route.key.prefix = *parse_prefix("10.1.0.0/16");
  route.nexthop = NexthopId(0x80000001);
  std::string key;
  append_route_key(key, route.key);
  add(rpc::ROUTE, key, "", encode_route_value(route));
  route.key.prefix = *parse_prefix("10.2.0.0/16");
  route.nexthop = NexthopId(5);
  key.clear();
  append_route_key(key, route.key);
  add(rpc::ROUTE, key, encode_route_value(route), "");
  return set;
}

Script monitored() {
  Script script;
  script.answer = [](const rpc::Request& request,
                     const std::function<bool(const rpc::Part&)>& on_part) -> Result<rpc::End> {
    EXPECT_TRUE(request.has_watch() && request.watch().with_nexthops());
    rpc::Part part;
    *part.mutable_changes() = some_changes();
    on_part(part);
    return Error{ErrorCode::kUnavailable, "the connection was lost within the answer", ""};
  };
  return script;
}

TEST(Scripted, MonitorPrintsAsIpMonitorDoes) {
  Script script = monitored();
  EXPECT_EQ(run_scripted(script, "monitor").out,
            "[NEXTHOP]id 5 via 10.0.0.5 dev e0 scope link \n"
            "[ROUTE]10.1.0.0/16 via 10.0.0.5 dev e0 \n"
            "[ROUTE]Deleted 10.2.0.0/16 nhid 5 \n");
  EXPECT_EQ(run_scripted(script, "monitor nexthop route").out,
            "id 5 via 10.0.0.5 dev e0 scope link \n"
            "10.1.0.0/16 via 10.0.0.5 dev e0 \n"
            "Deleted 10.2.0.0/16 nhid 5 \n");
  EXPECT_EQ(run_scripted(script, "monitor").code, kExitNoConnection);
}

TEST(Scripted, MonitorPrintsJsonLinesWhereIpPrintsText) {
  Script script = monitored();
  EXPECT_EQ(run_scripted(script, "-j -p monitor").out,
            R"({"id":5,"gateway":"10.0.0.5","dev":"e0","scope":"link","flags":[]})"
            "\n"
            R"({"dst":"10.1.0.0/16","gateway":"10.0.0.5","dev":"e0","flags":[]})"
            "\n"
            R"({"deleted":true,"dst":"10.2.0.0/16","nhid":5,"flags":[]})"
            "\n");
}

TEST(Scripted, DamagedAnswersAreErrorsAndPrintNothing) {
  Script script;
  script.answer = [](const rpc::Request&,
                     const std::function<bool(const rpc::Part&)>& on_part) -> Result<rpc::End> {
    rpc::Part part;
    part.mutable_rows()->set_rows("\x04zzzz\x7fzz");
    on_part(part);
    return rpc::End();
  };
  const Printed printed = run_scripted(script, "-j nexthop list");
  EXPECT_EQ(printed.code, kExitRefused);
  EXPECT_EQ(printed.out, "");
  EXPECT_NE(printed.err.find("damaged"), std::string::npos) << printed.err;
}

TEST(Scripted, FibStatusSaysWhatIsHeldAndIsNotHealthy) {
  Script script;
  script.answer = [](const rpc::Request&, const auto&) -> Result<rpc::End> {
    rpc::End end;
    rpc::FibStatus& status = *end.mutable_fib_status();
    status.set_enabled(true);
    status.set_in_sync(true);
    status.set_hold("the store has another history than the mark");
    status.set_held_objects(12);
    status.mutable_routes()->set_pending(1);
    return end;
  };
  const Printed printed = run_scripted(script, "fib status");
  EXPECT_EQ(printed.code, kExitDifferences);
  EXPECT_NE(printed.out.find("sweep held           the store has another history than the mark\n"),
            std::string::npos)
      << printed.out;
}

}  // namespace
}  // namespace waypost::cli
