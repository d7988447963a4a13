#!/usr/bin/env bash
# The data directory is lost, or replaced by an older copy, under a full FIB, and waypostd is started with the same flags: not one
# object leaves the kernel, nobody hears of a change, `fib status` says why sweeping is held and what to do; then what it says works.
# usage: lost_store.sh [ROUTES]        whole: lost_store.sh all
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
. "$LAB_SOURCE/tests/kernel/common.sh"
wanted=${1:-3000}
take() { if [ "$wanted" = all ]; then cat; else sed -n "1,${wanted}p"; fi; }

everything() { # FILE: what the kernel holds, as text
  { ip nexthop show; ip -4 route show table all; ip -6 route show table all; } | sort >"$1"
}
# start_over WHAT WORDS: starts the daemon and expects it to leave the kernel alone and to say WORDS.
start_over() {
  ip -o monitor nexthop route >"$LAB_DIR/monitor" 2>&1 &
  local monitor=$! start
  sleep 0.3
  start=$(now_ms)
  daemon_start
  until_ms 120000 holds >/dev/null
  echo "$1: decided after $(($(now_ms) - start)) ms"
  sleep 1
  kill $monitor && wait $monitor 2>/dev/null || true
  everything "$LAB_DIR/now"
  cmp "$LAB_DIR/full" "$LAB_DIR/now" || { diff "$LAB_DIR/full" "$LAB_DIR/now" | sed -n 1,10p >&2; die "$1: the kernel changed"; }
  [ ! -s "$LAB_DIR/monitor" ] || { sed -n 1,5p "$LAB_DIR/monitor" >&2; die "$1: the kernel spoke of changes"; }
  waypost fib status >"$LAB_DIR/status" || true
  grep -i 'sweep held' -A 3 "$LAB_DIR/status" | sed 's/^/  /'
  grep -q "$2" "$LAB_DIR/status" || die "$1: fib status does not say why: $2"
  grep -q 'waypost fib sweep --yes' "$LAB_DIR/status" || die "$1: fib status does not say what to do"
  echo "$1: 0 of $(wc -l <"$LAB_DIR/full") objects removed or changed"
}
holds() { { waypost fib status || true; } | grep -qi 'sweep held'; }

lab_uplinks
say "a full FIB"
{
  for i in 1 2 3 4; do
    echo "nexthop add id $i via 10.7.0.$((1 + i)) dev e0"
    echo "nexthop add id $((10 + i)) via 10.8.0.$((1 + i)) dev e1"
    echo "nexthop add id $((20 + i)) via 2001:db8:70::$((1 + i)) dev e0"
    echo "nexthop add id $((100 + i)) group $i/$((10 + i))"
  done
  real_ipv4 | take | awk '{ print "route add " $1 " nhid " 101 + NR % 4 }'
  real_ipv6 | take | awk '{ print "route add " $1 " nhid " 21 + NR % 4 }'
} >"$LAB_DIR/table.batch"
daemon_start
waypost -batch "$LAB_DIR/table.batch" --wait=fib --timeout 300s
daemon_stop
cp -a "$LAB_DIR/data" "$LAB_DIR/older"
daemon_start
awk 'BEGIN { for (i = 0; i < 2000; i++) printf "route add 198.%d.%d.0/24 nhid 101 metric 7\n", 18 + i / 256, i % 256 }' >"$LAB_DIR/more.batch"
waypost -batch "$LAB_DIR/more.batch" --wait=fib --timeout 60s
everything "$LAB_DIR/full"
echo "$(wc -l <"$LAB_DIR/full") objects in the kernel"
daemon_kill

say "the data directory is lost"
mv "$LAB_DIR/data" "$LAB_DIR/right"
start_over "lost" "another"
daemon_kill

say "the data directory is an older copy"
rm -rf "$LAB_DIR/data"
cp -a "$LAB_DIR/older" "$LAB_DIR/data"
start_over "older" "the store is older"
daemon_kill

say "the right store comes back: in sync, and nothing was touched"
rm -rf "$LAB_DIR/data"
mv "$LAB_DIR/right" "$LAB_DIR/data"
daemon_start
no_differences
everything "$LAB_DIR/now"
cmp "$LAB_DIR/full" "$LAB_DIR/now" || die "the kernel changed"
daemon_kill

say "the older copy again, and the operator says so: swept to what it holds"
rm -rf "$LAB_DIR/data"
mv "$LAB_DIR/older" "$LAB_DIR/data"
daemon_start
until_ms 120000 holds >/dev/null
waypost fib sweep --yes
no_differences
[ "$(kernel_routes)" = "$(grep -c '^route' "$LAB_DIR/table.batch")" ] || die "the kernel has $(kernel_routes) routes"
echo "swept: $(kernel_routes) routes are left, as in the store"
daemon_stop
