#!/usr/bin/env bash
# 720,022 routes with two ECMP nexthops and device names, file to kernel: `waypost -batch --wait=fib` beside `ip -batch` of the same file
# and the kernel's own floor (raw netlink, as nhid of one group). A fresh namespace each, interleaved, nobody listening.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  # shellcheck source=../lab/lab.sh
  . "$(dirname "$0")/../lab/lab.sh"
  . "$LAB_SOURCE/tests/bench/common.sh"
fi
ROUTES=${ROUTES:-720022}

round_ip() { timed ip -batch "$LAB_DIR/import.batch"; }
round_waypost() {
  export DATA_DIR=$LAB_DIR/import-data
  rm -rf "$DATA_DIR"
  daemon_start
  timed waypost -batch "$LAB_DIR/import.batch" --wait=fib --timeout 300s
  local have
  have=$(kernel_routes)
  [ "$have" = "$ROUTES" ] || die "the kernel has $have of $ROUTES routes"
  daemon_stop
}
round_floor() { netlink_floor routes --count "$ROUTES" --prefixes "$LAB_DIR/prefixes"; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  export BENCH=$LAB_SOURCE/tests/bench/import.sh ROUTES
  real_ipv4 | sed -n "1,${ROUTES}p" >"$LAB_DIR/prefixes"
  awk '{ print "route add " $1 " nexthop via 10.7.0.2 dev e0 nexthop via 10.8.0.2 dev e1" }' "$LAB_DIR/prefixes" >"$LAB_DIR/import.batch"
  for round in $(seq "$ROUNDS"); do
    fresh round_ip >>"$LAB_DIR/ip.ms"
    fresh round_waypost >>"$LAB_DIR/waypost.ms"
    if command -v netlink_floor >/dev/null; then fresh round_floor >>"$LAB_DIR/floor.ms"; else echo 0 >>"$LAB_DIR/floor.ms"; fi
    echo "round $round: ip $(tail -n 1 "$LAB_DIR/ip.ms") ms, waypost $(tail -n 1 "$LAB_DIR/waypost.ms") ms, floor $(tail -n 1 "$LAB_DIR/floor.ms") ms"
  done
  ip_ms=$(median <"$LAB_DIR/ip.ms") waypost_ms=$(median <"$LAB_DIR/waypost.ms") floor_ms=$(median <"$LAB_DIR/floor.ms")
  echo "import of $ROUTES two-path routes, median of $ROUNDS: ip -batch $ip_ms ms, waypost $waypost_ms ms, floor $floor_ms ms"
  echo "waypost / ip = $(ratio "$waypost_ms" "$ip_ms") (aim 0.50), waypost / floor = $(ratio "$waypost_ms" "$floor_ms") (aim 2.50)"
fi
