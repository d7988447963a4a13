#!/usr/bin/env bash
# A host with thousands of devices: one route costs no dump of them; a rename in the middle of an import, a device deleted and made
# again, carrier lost and back: everything is right again within a second of the event that makes it possible, and what goes another
# way never loses a packet.
# usage: devices.sh [DEVICES] [ROUTES]        whole: devices.sh 10000 200000
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
. "$LAB_SOURCE/tests/kernel/common.sh"
devices=${1:-300} routes=${2:-4000}

lab_uplinks
for i in $(seq $((devices / 2))); do echo "link add x$i type veth peer name y$i"; done | ip -batch -
say "$(ip -o link | wc -l) devices, one route"
tracer=()
# An account from outside, where there is the tool for it.
if command -v strace >/dev/null; then tracer=(strace -f -o "$LAB_DIR/strace" -e trace=sendto,sendmsg -s 64); fi
"${tracer[@]}" waypostd --name n1 --data-dir "$LAB_DIR/data" --listen 127.0.0.1:7601 --http 127.0.0.1:7602 --bootstrap --kernel-sync \
  >>"$LAB_DIR/waypostd.log" 2>&1 &
DAEMON=$!
daemon_wait
waypost nexthop add id 1 via 10.7.0.2 dev e0
waypost route add 192.0.2.0/24 nhid 1 --wait=fib
gets=$(counter link_gets) dumps=$(counter link_dumps)
echo "asked for one link $gets times, for all links $dumps times"
[ "$dumps" = 0 ] && [ "$gets" -le 4 ] || die "one route costs $gets questions for links and $dumps dumps"
if [ ${#tracer[@]} != 0 ]; then
  kill "$(cat "/proc/$DAEMON/task/$DAEMON/children")"
  wait "$DAEMON" || true
  seen=$(grep -c RTM_GETLINK "$LAB_DIR/strace" || true)
  whole=$(grep RTM_GETLINK "$LAB_DIR/strace" | grep -c NLM_F_DUMP || true)
  echo "strace: RTM_GETLINK $seen times, $whole of them dumps, of $(grep -c nlmsg_type "$LAB_DIR/strace" || true) netlink messages"
  [ "$whole" = 0 ] && [ "$seen" -ge 1 ] && [ "$seen" -le 4 ] || die "the system calls say otherwise"
  daemon_start
fi

say "$routes routes: 700 over e0 alone (table 100), the others over e1 or over both"
{
  for i in 1 2 3 4; do
    echo "nexthop replace id $i via 10.7.0.$((1 + i)) dev e0"
    echo "nexthop add id $((10 + i)) via 10.8.0.$((1 + i)) dev e1"
    echo "nexthop add id $((20 + i)) via 2001:db8:70::$((1 + i)) dev e0"
    echo "nexthop add id $((100 + i)) group $i/$((10 + i))"
  done
  awk 'BEGIN { for (i = 0; i < 500; i++) printf "route add 10.200.%d.%d/32 nhid %d table 100\n", i / 250, i % 250, 1 + i % 4
               for (i = 0; i < 200; i++) printf "route add 2001:db8:%x::/48 nhid %d table 100\n", 4096 + i, 21 + i % 4 }'
} >"$LAB_DIR/first.batch"
real_ipv4 | sed -n "1,${routes}p" >"$LAB_DIR/prefixes"
awk '{ print "route add " $1 " nhid " (NR % 2 ? 11 + NR % 4 : 101 + NR % 4) }' "$LAB_DIR/prefixes" >"$LAB_DIR/table.batch"
awk 'NR % 2 && /\/24$/' "$LAB_DIR/prefixes" | sed -n 1,2000p >"$LAB_DIR/over-e1"  # what no longer prefix hides
sed -n 1,4000p "$LAB_DIR/prefixes" >"$LAB_DIR/always"
for i in 2 3 4 5; do neighbours e1 -4 10.8.0.$i; done
waypost -batch "$LAB_DIR/first.batch" --wait=fib --timeout 60s

over_e0() { [ "$( (ip -4 route show table 100; ip -6 route show table 100) 2>/dev/null | grep -c 'proto 87')" = "$1" ]; }
back_within() { # MS WHAT
  local took
  took=$(until_ms 10000 over_e0 700)
  echo "$2: all 700 routes over e0 are back after $took ms"
  [ "$took" -le "$1" ] || die "$2: back after $took ms, more than $1"
}
e0_addresses() { ip -batch - <<<$'addr replace 10.7.0.1/16 dev e0\naddr replace 2001:db8:70::1/64 dev e0 nodad'; }

say "e0 is renamed in the middle of the import, and back"
waypost -batch "$LAB_DIR/table.batch" --wait=fib --timeout 300s >"$LAB_DIR/import.out" 2>&1 &
import=$!
sleep "${RENAME_AFTER:-0.15}"
ip link set e0 name east
sleep 0.5
kill -0 $import 2>/dev/null && echo "renamed while the import ran" || echo "renamed when the import was through"
wait $import || true
grep -qi 'device e0 does not exist' <(waypost fib status) || die "nobody says that e0 is not there"
ip link set east name e0
back_within 1000 "renamed back"
no_differences
[ "$(kernel_routes)" = $((routes + 701)) ] || die "the kernel has $(kernel_routes) of $((routes + 701)) routes"

watch_start --prefixes "$LAB_DIR/always" --packets "$LAB_DIR/over-e1" --devices p1
say "carrier lost and back, three times"
for _ in 1 2 3; do
  ip link set p0 down
  gone=$(until_ms 5000 over_e0 0)
  ip link set p0 up
  back_within 1000 "carrier (gone after $gone ms)"
done
no_differences

say "admin down, then up and the IPv6 address added again"
ip link set e0 down
until_ms 5000 over_e0 0 >/dev/null
ip link set e0 up
e0_addresses
back_within 1000 "admin up"
no_differences

say "e0 deleted, then made again"
ip link del e0
until_ms 5000 over_e0 0 >/dev/null
waypost fib wait --timeout 20s >/dev/null
ip link add e0 type veth peer name p0
ip link set p0 up
ip link set e0 up
e0_addresses
back_within 1000 "made again"
no_differences
watch_stop
[ "$(kernel_routes)" = $((routes + 701)) ] || die "the kernel has $(kernel_routes) of $((routes + 701)) routes"
echo "dumps of all links in the end: $(counter link_dumps)"
daemon_stop
