# A host of its own for demos, benches and scenarios: source this file as the first thing of a bash script.
#
# The script then runs again inside private net, mount and pid namespaces, which vanish with it together with every
# process it started: nothing can reach the machine's own interfaces. e0 and e1 are the host's uplinks:
#   e0 10.7.0.1/16, 2001:db8:70::1/64      e1 10.8.0.1/16, 2001:db8:71::1/64
# Needs root; LAB_DIR is a scratch directory that is removed at the end.
set -euo pipefail
LAB_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
PATH=$LAB_SOURCE/${LAB_BUILD:-build}/bin:$PATH:/sbin:/usr/sbin

if [ "${LAB_INSIDE:-}" != yes ]; then
  LAB_DIR=$(mktemp -d "${TMPDIR:-/var/tmp}/waypost-lab.XXXXXX")
  export LAB_INSIDE=yes LAB_DIR
  trap 'rm -rf "$LAB_DIR"' EXIT
  as=()
  [ "$(id -u)" = 0 ] || as=(sudo -E)
  rc=0
  "${as[@]}" unshare --mount --net --pid --fork --mount-proc --kill-child --propagation private bash "$0" "$@" || rc=$?
  [ "$(id -u)" = 0 ] || sudo rm -rf "$LAB_DIR"
  exit $rc
fi

mount -t tmpfs tmpfs /run
mkdir -p /run/netns /run/lock /run/waypost

die() { echo "error: $*" >&2; exit 1; }
say() { printf '\n-- %s\n' "$*"; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# lab_uplinks: makes e0 and e1 with carrier.
lab_uplinks() {
  ip link set lo up
  sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
  ip link add e0 type veth peer name p0
  ip link add e1 type veth peer name p1
  ip -batch - <<'B'
link set e0 up
link set p0 up
link set e1 up
link set p1 up
addr add 10.7.0.1/16 dev e0
addr add 10.8.0.1/16 dev e1
addr add 2001:db8:70::1/64 dev e0 nodad
addr add 2001:db8:71::1/64 dev e1 nodad
B
  sysctl -qw net.ipv6.route.max_size=8388608
}

# daemon_start [ARGS]: a waypostd with kernel_sync on LAB_DIR/data, client port 7601, HTTP port 7602; waits until it is ready.
# Sets DAEMON to its process id.
daemon_start() {
  waypostd --name "${NODE_NAME:-n1}" --data-dir "${DATA_DIR:-$LAB_DIR/data}" --listen 127.0.0.1:7601 --http 127.0.0.1:7602 \
    --bootstrap --kernel-sync "$@" >>"$LAB_DIR/waypostd.log" 2>&1 &
  DAEMON=$!
  daemon_wait
}
daemon_wait() {
  local i
  for i in $(seq 600); do
    if http_get /readyz >/dev/null 2>&1; then return; fi
    kill -0 "$DAEMON" 2>/dev/null || { tail -n 20 "$LAB_DIR/waypostd.log" >&2; die "waypostd ended"; }
    sleep 0.1
  done
  die "waypostd did not become live"
}
http_get() { # PATH
  local line
  exec 9<>/dev/tcp/127.0.0.1/7602 || return 1
  printf 'GET %s HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n' "$1" >&9
  local rc=1
  read -r line <&9 && case $line in *" 200 "*) rc=0 ;; esac
  cat <&9
  exec 9<&- 9>&-
  return $rc
}
daemon_stop() { kill "$DAEMON" && wait "$DAEMON" 2>/dev/null || true; }
daemon_kill() { kill -9 "$DAEMON" && wait "$DAEMON" 2>/dev/null || true; }
daemon_rss_kb() { awk '/VmRSS/ {print $2}' "/proc/$DAEMON/status"; }

export WAYPOST_ENDPOINTS=127.0.0.1:7601
real_ipv4() { xz -dc "$LAB_SOURCE/tests/data/ipv4.txt.xz"; }
real_ipv6() { xz -dc "$LAB_SOURCE/tests/data/ipv6.txt.xz"; }

# What the kernel holds of ours (proto 87).
kernel_routes() { { ip -4 route show table all proto 87; ip -6 route show table all proto 87; } | grep -c '^[^[:space:]]' || true; }
kernel_nexthops() { ip nexthop show proto 87 | wc -l; }
