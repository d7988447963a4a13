#!/usr/bin/env bash
# 232,144 contiguous /24 (8.0.0.0 - 11.138.207.0) over 10.37.96.0/20, ascending and descending, then deleted; by eighths, since a structure that
# looks at siblings gets slower on the way. First the trie alone beside its rivals, then file to kernel: `waypost -batch --wait=fib`
# beside `ip -batch` and raw netlink, a fresh namespace each, interleaved; FULL=1: on top of the real table as well.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  # shellcheck source=../lab/lab.sh
  . "$(dirname "$0")/../lab/lab.sh"
  . "$LAB_SOURCE/tests/bench/common.sh"
fi
SEED=232144 EIGHTH=29018

# note CONTENDER ORDER PART MS: nanoseconds a route
note() { echo "$4 $EIGHTH" | awk '{ printf "%.0f\n", $1 * 1e6 / $2 }' >>"$LAB_DIR/seed.$1.$2.$3"; }
# eighths CONTENDER ORDER COMMAND...: the command for each of the eight batch files
eighths() {
  local contender=$1 order=$2 part
  shift 2
  for part in 1 2 3 4 5 6 7 8; do note "$contender" "$order" "$part" "$(timed "$@" "$LAB_DIR/$order.$part")"; done
}
round_ip() {
  ip -batch "$LAB_DIR/cover"
  [ "${FULL:-0}" = 0 ] || ip -batch "$LAB_DIR/full"
  eighths ip "$1" ip -batch
  note ip "$1" delete "$(($(timed ip -batch "$LAB_DIR/delete") / 8))"
}
round_waypost() {
  export DATA_DIR=$LAB_DIR/seed-data
  rm -rf "$DATA_DIR"
  daemon_start
  waypost -batch "$LAB_DIR/cover" --wait=fib >/dev/null
  [ "${FULL:-0}" = 0 ] || waypost -batch "$LAB_DIR/full" --wait=fib --timeout 300s >/dev/null
  eighths waypost "$1" waypost --wait=fib --timeout 60s -batch
  note waypost "$1" delete "$(($(timed waypost --wait=fib --timeout 120s -batch "$LAB_DIR/delete") / 8))"
  daemon_stop
}
# The whole at once, between the first and the last row of each eighth: the kernel's own shape.
round_floor() {
  local part
  netlink_floor eighths --count 10000000 --prefixes "$LAB_DIR/$1" --cover 10.37.96.0/20 >"$LAB_DIR/floor.out"
  for part in 1 2 3 4 5 6 7 8; do note floor "$1" "$part" "$(awk -v name="eighth-$part" '$1 == name { print $2 }' "$LAB_DIR/floor.out")"; done
  note floor "$1" delete "$(awk '$1 == "delete" { print $2 / 8 }' "$LAB_DIR/floor.out")"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  [ "${TRIE:-1}" = 0 ] || trie_bench --only seed
  export BENCH=$LAB_SOURCE/tests/bench/seed.sh FULL=${FULL:-0}
  { echo "nexthop add id 1 via 10.7.0.2 dev e0"; echo "route add 10.37.96.0/20 nhid 1"; } >"$LAB_DIR/cover"
  # What the seed holds itself is left out of the table beneath.
  real_ipv4 | awk -F '[./]' '$1 < 8 || $1 > 11 { print "route add " $0 " nhid 1" }' >"$LAB_DIR/full"
  awk -v n=$SEED 'BEGIN { for (i = 0; i < n; i++) printf "%d.%d.%d.0/24\n", 8 + int(i / 65536), int(i / 256) % 256, i % 256 }' >"$LAB_DIR/ascending"
  tac "$LAB_DIR/ascending" >"$LAB_DIR/descending"
  for order in ascending descending; do
    for part in 1 2 3 4 5 6 7 8; do
      sed -n "$(((part - 1) * EIGHTH + 1)),$((part * EIGHTH))p" "$LAB_DIR/$order" | awk '{ print "route add " $1 " nhid 1" }' >"$LAB_DIR/$order.$part"
    done
  done
  awk '{ print "route del " $1 }' "$LAB_DIR/ascending" >"$LAB_DIR/delete"
  for round in $(seq "$ROUNDS"); do
    for order in ascending descending; do
      for contender in ip floor waypost; do fresh "round_$contender" $order >&2; done
    done
    echo "round $round done" >&2
  done
  echo "file to kernel$([ "$FULL" = 0 ] || echo ", on top of the full table (the floor without it)"): nanoseconds a route by eighths, median of $ROUNDS"
  printf '%-24s %7s %7s %7s %7s %7s %7s %7s %7s   %10s %8s\n' "" 1 2 3 4 5 6 7 8 "last/first" delete
  for order in ascending descending; do
    for contender in ip floor waypost; do
      values=()
      for part in 1 2 3 4 5 6 7 8 delete; do values+=("$(median <"$LAB_DIR/seed.$contender.$order.$part")"); done
      printf '%-24s %7s %7s %7s %7s %7s %7s %7s %7s   %10s %8s\n' "$order $contender" "${values[@]:0:8}" "$(ratio "${values[7]}" "${values[0]}")" "${values[8]}"
    done
  done
  echo "aim: last/first at most 1.50"
fi
