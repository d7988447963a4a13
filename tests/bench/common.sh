# Shared by the benches; sourced behind lab.sh.
ROUNDS=${ROUNDS:-5}

median() { sort -n | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)] }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (a != "-" && b > 0) printf "%.2f", a / b; else print "-" }'; }
# timed COMMAND...: milliseconds on stdout, the command's output thrown away; a failure ends the bench.
timed() {
  local start
  rm -f "$LAB_DIR/timed.out"  # to truncate what the one before printed is not this one's work
  start=$(now_ms)
  "$@" >"$LAB_DIR/timed.out" 2>&1 || { tail -n 5 "$LAB_DIR/timed.out" >&2; die "failed: $*"; }
  echo $(($(now_ms) - start))
}
# fresh FUNCTION ARGS...: runs a function of the bench in a network namespace of its own, with e0 and e1 and
# nexthop_compat_mode 0, and takes the links away afterwards so that the next one does not pay for cleaning up.
fresh() {
  unshare --net --mount bash -c '
    LAB_INSIDE=yes . "$LAB_SOURCE/tests/lab/lab.sh"; . "$LAB_SOURCE/tests/bench/common.sh"; . "$BENCH"
    lab_uplinks
    sysctl -qw net.ipv4.nexthop_compat_mode=${COMPAT_MODE:-0}
    "$@"
    ip link del e0; ip link del e1' fresh "$@"
}
export LAB_SOURCE
# nexthop_lines FIRST COUNT: IPv6 nexthops through e0 as `ip -batch` lines.
nexthop_lines() { awk -v first="$1" -v n="$2" 'BEGIN { for (i = first; i < first + n; i++) printf "nexthop add id %d via 2001:db8:70::%x:%x dev e0\n", i, 1 + int(i / 65536), i % 65536 }'; }
