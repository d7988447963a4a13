# Shared by the scripts of this folder; sourced behind lab.sh.

# neighbours DEVICE FAMILY GATEWAY...: known for ever, so that a packet waits for nobody.
neighbours() {
  local device=$1 family=$2 gateway
  shift 2
  for gateway; do echo "neigh replace $gateway lladdr 02:00:00:00:00:01 dev $device nud permanent"; done | ip "$family" -batch -
}
# counter NAME: one of kernel_sync's own counters.
counter() { { waypost fib status -d || true; } | awk -v name="$1" '$1 == name { print $2 }'; }
# until_ms LIMIT COMMAND...: the milliseconds until the command succeeds, asked every 10 ms.
until_ms() {
  local limit=$1 start
  start=$(now_ms)
  shift
  until "$@" >/dev/null 2>&1; do
    [ $(($(now_ms) - start)) -lt "$limit" ] || die "not so after $limit ms: $*"
    sleep 0.01
  done
  echo $(($(now_ms) - start))
}
# watch_start ARGS, watch_stop: route_watch beside what happens between them; ends the script where something was missing.
watch_start() {
  route_watch "$@" >"$LAB_DIR/watch" 2>"$LAB_DIR/watch.missing" &
  WATCH=$!
  sleep 0.2
}
watch_stop() {
  local rc=0
  kill "$WATCH"
  wait "$WATCH" || rc=$?
  echo "watched: $(cat "$LAB_DIR/watch")"
  [ "$rc" = 0 ] || { cat "$LAB_DIR/watch.missing" >&2; die "something that was always wanted was missing"; }
}
no_differences() {
  waypost fib wait --timeout 120s >/dev/null
  waypost fib diff >"$LAB_DIR/diff" || { sed -n 1,20p "$LAB_DIR/diff" >&2; die "fib diff is not empty"; }
}
