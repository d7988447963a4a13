#!/usr/bin/env bash
# The main job end to end on real input: a full Internet table from an `ip -batch` file through a running waypostd into the
# kernel of a private network namespace, one nexthop replaced under all of it, a crash, and the way back to nothing.
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
routes_wanted=${1:-all}

take() { if [ "$routes_wanted" = all ]; then cat; else sed -n "1,${routes_wanted}p"; fi; }

agree() { # WHAT STORE KERNEL
  printf '%-28s store %9s   kernel %9s\n' "$1" "$2" "$3"
  [ "$2" = "$3" ] || die "$1: the store has $2, the kernel $3"
}
store_routes() { { waypost -4 route list table all; waypost -6 route list table all; } | grep -c '^[^[:space:]]' || true; }
store_nexthops() { waypost nexthop list | wc -l; }

lab_uplinks
say "a waypostd with kernel_sync in a network namespace of its own"
daemon_start
echo "waypostd $(waypostd --version 2>/dev/null | head -n 1) is live, process $DAEMON"

say "an ip -batch file: 128 nexthops, 126 two-path groups, real routes"
batch=$LAB_DIR/table.batch
{
  for i in $(seq 0 63); do
    echo "nexthop add id $((1 + i)) via 10.7.0.$((2 + i)) dev e0"
    echo "nexthop add id $((201 + i)) via 2001:db8:70::$(printf %x $((2 + i))) dev e0"
  done
  for i in $(seq 1 63); do
    echo "nexthop add id $((1000 + i)) group 1/$((1 + i))"
    echo "nexthop add id $((2000 + i)) group 201/$((201 + i))"
  done
  real_ipv4 | take | awk '{ print "route add " $1 " nhid " 1001 + NR % 63 }'
  real_ipv6 | take | awk '{ print "route add " $1 " nhid " 2001 + NR % 63 }'
} >"$batch"
wc -l <"$batch" | xargs echo "lines:"
tail -n 2 "$batch"

say "waypost -batch, waiting until the kernel has it"
start=$(now_ms)
waypost -batch "$batch" --wait=fib --timeout 300s
echo "file to kernel: $(($(now_ms) - start)) ms"
agree routes "$(store_routes)" "$(kernel_routes)"
agree "nexthops and groups" "$(store_nexthops)" "$(kernel_nexthops)"
waypost fib status

say "one nexthop replaced under all of them"
ip -4 route show proto 87 | sed -n 1p
start=$(now_ms)
waypost nexthop replace id 1 via 10.7.0.200 dev e0 --wait=fib --timeout 60s
waypost nexthop replace id 201 via 2001:db8:70::200 dev e0 --wait=fib --timeout 60s
echo "both in the kernel after $(($(now_ms) - start)) ms"
ip nexthop get id 1
ip nexthop get id 1 | grep -q 10.7.0.200 || die "the kernel still has the old nexthop"
waypost fib diff

say "kill -9 and start again: nothing in the kernel is touched"
ip -o monitor nexthop route >"$LAB_DIR/monitor" 2>&1 &
monitor=$!
sleep 0.3
daemon_kill
daemon_start
waypost fib wait --timeout 120s
kill "$monitor" && wait "$monitor" 2>/dev/null || true
echo "kernel messages while it restarted: $(wc -l <"$LAB_DIR/monitor")"
[ ! -s "$LAB_DIR/monitor" ] || { head -n 5 "$LAB_DIR/monitor"; die "the restart touched the kernel"; }
agree routes "$(store_routes)" "$(kernel_routes)"

say "clean up: routes, then nexthops"
waypost route flush table all
waypost nexthop flush
waypost fib wait --timeout 120s
agree routes "$(store_routes)" "$(kernel_routes)"
agree "nexthops and groups" "$(store_nexthops)" "$(kernel_nexthops)"
daemon_stop
say "done: the namespace and everything in it goes with this script"
