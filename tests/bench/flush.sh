#!/usr/bin/env bash
# `nexthop flush` of 2,101,248 nexthops, store and kernel, beside `ip -6 nexthop flush`: none in a group, then every one in a
# two-member group. A fresh namespace each, interleaved, nobody listening.
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  # shellcheck source=../lab/lab.sh
  . "$(dirname "$0")/../lab/lab.sh"
  . "$LAB_SOURCE/tests/bench/common.sh"
fi
COUNT=${COUNT:-2101248}

fill_file() {
  case $1 in
    single) nexthop_lines 1 "$COUNT" ;;
    grouped) nexthop_lines 1 "$COUNT"; awk -v n="$COUNT" 'BEGIN { for (i = 1; i < n; i += 2) printf "nexthop add id %d group %d/%d\n", 10000000 + i, i, i + 1 }' ;;
  esac
}
round_ip() {
  ip -batch "$LAB_DIR/flush.$1"
  timed ip -6 nexthop flush
}
round_waypost() {
  export DATA_DIR=$LAB_DIR/flush-data
  rm -rf "$DATA_DIR"
  daemon_start
  waypost -batch "$LAB_DIR/flush.$1" --wait=fib --timeout 600s >/dev/null
  timed waypost nexthop flush --wait=fib --timeout 600s
  [ "$(kernel_nexthops)" = 0 ] || die "the kernel still has $(kernel_nexthops) nexthops"
  daemon_stop
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  export BENCH=$LAB_SOURCE/tests/bench/flush.sh COUNT
  for shape in single grouped; do
    fill_file $shape >"$LAB_DIR/flush.$shape"
    rm -f "$LAB_DIR"/*.ms
    for round in $(seq "$ROUNDS"); do
      fresh round_ip $shape >>"$LAB_DIR/ip.ms"
      fresh round_waypost $shape >>"$LAB_DIR/waypost.ms"
      echo "round $round: ip $(tail -n 1 "$LAB_DIR/ip.ms") ms, waypost $(tail -n 1 "$LAB_DIR/waypost.ms") ms"
    done
    ip_ms=$(median <"$LAB_DIR/ip.ms") ours=$(median <"$LAB_DIR/waypost.ms")
    echo "flush of $COUNT nexthops ($shape), median of $ROUNDS: ip $ip_ms ms, waypost $ours ms, ratio $(ratio "$ours" "$ip_ms") (aim 0.33)"
  done
fi
