#include "cli/help.h"

#include <array>

namespace waypost::cli {
namespace {

constexpr std::string_view kVersion = "waypost 0.1.0";

struct HelpPage {
  std::string_view object;
  std::string_view text;
};

constexpr std::string_view kOverview = R"(usage: waypost [OPTIONS] OBJECT VERB ARGUMENTS
       waypost [OPTIONS] -batch FILE|-

for example
  waypost nexthop add id 1 via 10.0.0.1 dev eth0
  waypost nexthop add id 100 group 1,10/2,20
  waypost route replace 10.0.0.0/8 nhid 100 --wait=fib
  waypost -batch routes.txt
  waypost -j route show table all

objects
  nexthop    add replace change del show get flush monitor
  route      add replace change append del show get flush save restore monitor
  monitor    changes as they happen
  fib        status diff get wait audit sweep release: this node's kernel beside the store
  cluster    status members remove check trim grow
  node       list show
  snapshot   save verify restore
  history    revisions, who made them and when;  diff REV1 REV2;  rollback REV
  completion bash zsh fish

options
  -4 -6              the family          -j -p    JSON, pretty       -d   details
  -o                 one line a row      -N       numbers, no names  -c[=always|auto|never]  colour
  -batch FILE        lines as `ip -batch` takes them; - is standard input, read to its end first
    -force           go on behind refused lines
    --atomic         one transaction, all or nothing
    --skip-other     pass over lines of other objects (link, address, rule, ...)
  --cascade          `nexthop del` takes routes and memberships along, as `ip` does
  --wait=stored|fib[:N%]  what an answer waits for;  --timeout 5s
  --limit N          of a list the first N rows;  --after ROW  those behind that row
  --dry-run          of flush, rollback and `nexthop del --cascade`: what would change
  --stale            answer from what this node has, without asking the log
  --endpoints HOST:PORT[,...]   also WAYPOST_ENDPOINTS; 127.0.0.1:7601 where neither is given
  -w table|json      for objects of the cluster
  -t -ts             times in front of a monitor's lines
  -V                 the version

exit codes
  0 ok  1 usage  2 refused  3 differences, or not healthy  4 not authorised  5 no connection
  6 timeout, outcome unknown  7 partly applied (-force)  8 stored, not installable on some node  130 interrupted
)";

constexpr std::string_view kNexthopPage =
    R"(usage: waypost nexthop { add | replace | change } [id ID] NEXTHOP [proto PROTOCOL]
       waypost nexthop del id ID [--cascade]
       waypost nexthop { show | list } [id ID] [dev NAME] [groups] [fdb] [proto PROTOCOL]
                                       [--limit N] [--after ID]
       waypost nexthop get id ID
       waypost nexthop flush [dev NAME] [groups] [fdb] [proto PROTOCOL] [--cascade]
       waypost nexthop monitor

NEXTHOP := blackhole | { via ADDRESS | dev NAME | via ADDRESS dev NAME } [onlink] [encap ENCAP] | via ADDRESS fdb
         | group ID[,WEIGHT][/ID[,WEIGHT]...] [type { mpath | resilient RESILIENT }] [fdb]
RESILIENT := buckets N [idle_timer SECONDS] [unbalanced_timer SECONDS]
ENCAP := { ip | ip6 } ... | seg6 mode MODE segs ADDRESS[,ADDRESS...]

for example
  waypost nexthop add id 1 via 10.0.0.1 dev eth0
  waypost nexthop add id 100 group 1,10/2,20 type resilient buckets 128
  waypost -j nexthop list groups

Without an id the lowest free one is taken and printed. Weights go to 65535, and print as they are: `ip` 6.1 prints
them modulo 256. `-j nexthop get` of an absent id prints [], where `ip` prints nothing.
)";

constexpr std::string_view kRoutePage =
    R"(usage: waypost route { add | replace | change | append } [TYPE] PREFIX TARGET [ATTRIBUTES]
       waypost route del PREFIX [table TABLE] [metric N] [nhid ID] ...
       waypost route { show | list } [root P | match P | exact P | P] [table TABLE|all] [FILTERS]
                                     [--limit N] [--after "PREFIX [table TABLE] [metric N] [tos TOS]"]
       waypost route get ADDRESS [table TABLE]
       waypost route flush FILTERS
       waypost route save [FILTERS] >FILE
       waypost route restore [--links FILE] [--inline] <FILE
       waypost route monitor

TYPE := unicast | blackhole | unreachable | prohibit | throw
TARGET := nhid ID | via [inet6] ADDRESS [dev NAME] [onlink] | dev NAME | nexthop via ADDRESS [dev NAME] [weight N] ...
ATTRIBUTES := table TABLE, metric N, tos TOS, proto PROTOCOL, scope SCOPE, src ADDRESS, pref PREF, mtu N, advmss N, ...
FILTERS := proto PROTOCOL, nhid ID, type TYPE, scope SCOPE, tos TOS, metric N, dev NAME, via ADDRESS, src ADDRESS

for example
  waypost route replace 10.0.0.0/8 nhid 100 table 100 metric 20 proto bgp
  waypost route add 192.0.2.0/24 nexthop via 10.0.0.1 dev eth0 nexthop via 10.0.1.1 dev eth1 weight 2
  waypost route show match 192.0.2.7
  ip route save table main | waypost route restore
)";

constexpr auto kPages = std::to_array<HelpPage>({
    {"nexthop", kNexthopPage},
    {"route", kRoutePage},
    {"monitor", R"(usage: waypost monitor [all | route | nexthop] [label] [after REVISION]

Prints changes as the store makes them, in the words of `ip monitor`; with -j one JSON object a line. `after` begins with
the changes behind a revision, as far back as the history goes.
)"},
    {"fib",
     R"(usage: waypost fib status            in sync, counts, what waits and why; -d adds capabilities and counters
       waypost fib diff              each object in which kernel and store differ
       waypost fib get ADDRESS [table TABLE]   the stored route and the kernel's own answer
       waypost fib wait [REVISION] [--timeout 30s]
       waypost fib audit             compare now, and repair
       waypost fib sweep --yes       go on where a sweep is held (`fib status` says why)
       waypost fib release           take our objects out of this kernel

About the node that is asked, which is the one of --endpoints. Exit code 3: they differ, or it is not healthy.
)"},
    {"cluster", R"(usage: waypost cluster status         the asked node, its log, and the members
       waypost cluster members
       waypost cluster check          digests of all nodes, indexes of the asked one
       waypost cluster remove NAME
       waypost cluster trim [POSITION]
       waypost cluster grow --log etcd://A:2379,B:2379,C:2379 --cluster NAME

-w json, or -j, prints the same for programs. Exit code 3: something needs care, and the output says what.
)"},
    {"node", R"(usage: waypost node list [-w]
       waypost node show [NAME]

-w alone prints the list again every two seconds; -w json prints it for programs.
)"},
    {"snapshot", R"(usage: waypost snapshot save FILE
       waypost snapshot verify FILE
       waypost snapshot restore FILE --data-dir DIR     on a node that is stopped
)"},
    {"history", R"(usage: waypost history [after REVISION] [limit N]
       waypost diff REVISION REVISION|now     exit code 3 where they differ
       waypost rollback REVISION [--dry-run]  new transactions that restore what the revision held
)"},
});

}  // namespace

void print_help(Output& out, std::string_view object) {
  for (const HelpPage& page : kPages)
    if (!object.empty() && page.object.starts_with(object)) return out.put(page.text);
  out.put(kOverview);
}

void print_version(Output& out) {
  out.put(kVersion);
  out.put("\n");
}

}  // namespace waypost::cli
