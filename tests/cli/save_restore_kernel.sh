#!/usr/bin/env bash
# Routes go from the store to a kernel and back by the stream of `ip route save`, in both directions, and each time `ip -d -j` and
# `waypost -d -j` print the same bytes for every object.
# usage: save_restore_kernel.sh BIN_DIR   (as root; in a network namespace of its own)
set -euo pipefail
bin=$(realpath "$1")
if [ "${2:-}" != inside ]; then exec unshare --net "$(realpath "$0")" "$bin" inside; fi

work=$(mktemp -d)
trap 'kill "${daemon:-}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
ip link set lo up
for device in e0 e1; do
  ip link add $device type veth peer name ${device}p
  ip link set $device up
  ip link set ${device}p up
done
ip addr add 10.7.0.1/24 dev e0
ip addr add 10.7.1.1/24 dev e1
ip -6 addr add 2001:db8:70::1/64 dev e0 nodad
ip -6 addr add 2001:db8:71::1/64 dev e1 nodad

"$bin/waypostd" --name n1 --data-dir "$work/data" --listen 127.0.0.1:17601 --bootstrap >"$work/log" 2>&1 &
daemon=$!
export WAYPOST_ENDPOINTS=127.0.0.1:17601
for _ in $(seq 100); do "$bin/waypost" nexthop list >/dev/null 2>&1 && break; sleep 0.1; done

cat >"$work/nexthops" <<'EOF'
nexthop add id 1 via 10.7.0.2 dev e0
nexthop add id 2 via 10.7.1.2 dev e1
nexthop add id 7 via 2001:db8:70::2 dev e0
nexthop add id 100 group 1/2
EOF
cat >"$work/routes" <<'EOF'
route add 10.1.0.0/24 nhid 1
route add 10.1.1.0/24 nhid 100 table 300
route add 10.1.2.0/24 nexthop via 10.7.0.2 dev e0 weight 4 nexthop via 10.7.1.2 dev e1
route add 10.1.3.0/24 via inet6 fe80::1 dev e0
route add 10.1.4.0/24 via 10.9.9.9 dev e0 onlink mtu lock 1400 rtt 20ms congctl cubic tos 0x10 metric 5
route add 10.1.5.0/24 encap ip id 42 dst 10.7.0.9 ttl 64 via 10.7.0.2 dev e0
route add unreachable 10.1.6.0/24 metric 50
route add 10.1.7.0/24 dev e0 scope link src 10.7.0.1
route add 2001:db8:101::/64 nhid 7
route add 2001:db8:102::/64 nexthop via 2001:db8:70::2 dev e0 nexthop via 2001:db8:71::2 dev e1 weight 5
route add 2001:db8:103::/64 encap seg6 mode inline segs 2001:db8:a::1 dev e0
route add 2001:db8:104::/64 encap seg6 mode encap segs 2001:db8:a::1,2001:db8:a::2 via 2001:db8:70::2 dev e0 pref high
route add blackhole 2001:db8:105::/64
EOF
"$bin/waypost" -batch "$work/nexthops"
"$bin/waypost" -batch "$work/routes"
ip -batch "$work/nexthops"

# One object a line, without the kernel's own.
objects() { # COMMAND...: of both families
  local family
  for family in -4 -6; do
    "$@" $family -d -j route show table all | sed -e 's/^\[//' -e 's/\]$//' -e 's/},{"type"/}\n{"type"/g' |
      grep -v -e '"protocol":"kernel"' -e '"table":"local"' || true
  done | sort
}
agree() { # WHAT
  objects ip >"$work/kernel"
  objects "$bin/waypost" >"$work/store"
  diff "$work/kernel" "$work/store" || { echo "FAILED: $1"; exit 1; }
  echo "$1: $(wc -l <"$work/store") objects are the same"
}

"$bin/waypost" route save table all >"$work/ours"
ip route restore <"$work/ours"
agree "from the store into the kernel"
for mode in 0 1; do
  sysctl -qw net.ipv4.nexthop_compat_mode=$mode
  ip -4 route save table all >"$work/theirs4"
  ip -6 route save table all >"$work/theirs6"
  "$bin/waypost" route flush table all
  "$bin/waypost" route restore <"$work/theirs4"
  "$bin/waypost" route restore <"$work/theirs6"
  sysctl -qw net.ipv4.nexthop_compat_mode=1
  agree "from the kernel into the store, nexthop_compat_mode $mode"
done
