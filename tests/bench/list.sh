#!/usr/bin/env bash
# Listings of 1,050,624 and 2,101,248 nexthops: `waypost nexthop list` beside `ip -6 nexthop list` in one namespace that holds the
# same; memory of the CLI and the daemon; the last page of 1,000 beside the first.
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
. "$LAB_SOURCE/tests/bench/common.sh"
STEP=${STEP:-1050624}

lab_uplinks
sysctl -qw net.ipv4.nexthop_compat_mode=0
daemon_start
previous=
for times in 1 2; do
  count=$((STEP * times))
  nexthop_lines $((STEP * (times - 1) + 1)) "$STEP" >"$LAB_DIR/nexthops.batch"
  waypost -batch "$LAB_DIR/nexthops.batch" --wait=fib --timeout 300s >/dev/null
  [ "$(ip -6 nexthop list | wc -l)" = "$count" ] || die "the kernel does not hold $count nexthops"
  [ "$(waypost nexthop list | wc -l)" = "$count" ] || die "the store does not hold $count nexthops"
  rm -f "$LAB_DIR"/*.ms
  before=$(daemon_rss_kb)
  for round in $(seq "$ROUNDS"); do
    timed ip -6 nexthop list >>"$LAB_DIR/ip.ms"
    start=$(now_ms)
    /usr/bin/time -f %M -o "$LAB_DIR/cli.kb" waypost nexthop list >"$LAB_DIR/list.out"
    echo $(($(now_ms) - start)) >>"$LAB_DIR/waypost.ms"
    rm "$LAB_DIR/list.out"
    timed waypost nexthop list --limit 1000 >>"$LAB_DIR/first.ms"
    timed waypost nexthop list --after $((count - 1000)) --limit 1000 >>"$LAB_DIR/last.ms"
  done
  ip_ms=$(median <"$LAB_DIR/ip.ms") ours=$(median <"$LAB_DIR/waypost.ms")
  echo "list of $count nexthops, median of $ROUNDS: ip $ip_ms ms, waypost $ours ms, ratio $(ratio "$ours" "$ip_ms") (aim 0.33)"
  echo "  memory: CLI $(cat "$LAB_DIR/cli.kb") KiB (aim 32768), daemon grew $(($(daemon_rss_kb) - before)) KiB (aim 65536)"
  echo "  pages of 1,000: first $(median <"$LAB_DIR/first.ms") ms, last $(median <"$LAB_DIR/last.ms") ms"
  [ -z "$previous" ] || echo "  twice the objects: $(ratio "$ours" "$previous") times the time (aim 2.2)"
  previous=$ours
done
daemon_stop
