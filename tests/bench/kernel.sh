#!/usr/bin/env bash
# The full real table (or ROUTES of it) and the kernel: import, list, failover, one route, withdrawal with the group, flush. Each beside
# `ip` and the kernel's own floor (raw netlink, nothing of Waypost), a fresh namespace each, interleaved, nobody listening:
#
#   ip           iproute2, with -batch where there is more than one object
#   floor        netlink_floor
#   kernel_sync  from a loaded store to the kernel, in one process (kernel_sync_bench)
#   waypost      the command with --wait=fib against a running waypostd; failover and one route with the start of the command in it
#
# COMPAT_MODE=1 ./dev bench kernel: the same at nexthop_compat_mode 1 (the daemon's config then says "leave").
if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  # shellcheck source=../lab/lab.sh
  . "$(dirname "$0")/../lab/lab.sh"
  . "$LAB_SOURCE/tests/bench/common.sh"
fi
GROUP_ROUTES=${GROUP_ROUTES:-720022}

# note CONTENDER WHAT MS
note() { echo "$3" >>"$LAB_DIR/kernel.$1.$2"; }
one_way() { # nexthops and the one group of the withdrawal
  echo "nexthop add id 1 via 10.7.0.2 dev e0"
  echo "nexthop add id 2 via 10.8.0.2 dev e1"
  echo "nexthop add id 100 group 1/2"
}

round_ip() {
  note ip import "$(timed ip -batch "$LAB_DIR/table.batch")"
  note ip list "$(timed sh -c 'ip route show; ip -6 route show')"
  note ip failover "$(timed ip nexthop replace id 1 via 10.7.0.200 dev e0)"
  note ip failover-ipv6 "$(timed ip nexthop replace id 201 via 2001:db8:70::200 dev e0)"
  note ip one-route "$(timed ip route add 198.18.0.0/24 nhid 1)"
  note ip flush "$(timed sh -c "ip route flush table main proto boot; ip -6 route flush table main proto boot; ip nexthop flush >/dev/null")"
}
round_ip_withdraw() {
  ip -batch "$LAB_DIR/one-group.batch"
  note ip withdraw "$(timed ip nexthop del id 100)"
}
round_waypost() {
  export DATA_DIR=$LAB_DIR/kernel-data
  rm -rf "$DATA_DIR"
  local config=()
  if [ "${COMPAT_MODE:-0}" = 1 ]; then
    printf '[kernel_sync]\ncompat_mode = "leave"\n' >"$LAB_DIR/leave.toml"
    config=(--config "$LAB_DIR/leave.toml")
  fi
  daemon_start "${config[@]}"
  note waypost import "$(timed waypost -batch "$LAB_DIR/table.batch" --wait=fib --timeout 300s)"
  local have
  have=$(kernel_routes)
  [ "$have" = "$(grep -c ^route "$LAB_DIR/table.batch")" ] || die "the kernel has $have routes"
  note waypost list "$(timed sh -c 'waypost -4 route list; waypost -6 route list')"
  note waypost failover "$(timed waypost nexthop replace id 1 via 10.7.0.200 dev e0 --wait=fib)"
  note waypost failover-ipv6 "$(timed waypost nexthop replace id 201 via 2001:db8:70::200 dev e0 --wait=fib)"
  note waypost one-route "$(timed waypost route add 198.18.0.0/24 nhid 1 --wait=fib)"
  note waypost flush "$(timed sh -c 'waypost route flush table all && waypost nexthop flush --wait=fib --timeout 120s && waypost fib wait --timeout 120s')"
  [ "$(kernel_routes) $(kernel_nexthops)" = "0 0" ] || die "the kernel still has $(kernel_routes) routes and $(kernel_nexthops) nexthops"
  daemon_stop
}
round_waypost_withdraw() {
  export DATA_DIR=$LAB_DIR/kernel-data
  rm -rf "$DATA_DIR"
  daemon_start
  waypost -batch "$LAB_DIR/one-group.batch" --wait=fib --timeout 300s >/dev/null
  note waypost withdraw "$(timed sh -c 'waypost nexthop del id 100 --cascade --timeout 120s && waypost fib wait --timeout 120s')"
  [ "$(kernel_routes)" = 0 ] || die "the kernel still has $(kernel_routes) routes"
  daemon_stop
}
# figures CONTENDER FILE NAME=WHAT...: lines "NAME MS" of a program under the bench's names
figures() {
  local contender=$1 file=$2 pair
  shift 2
  for pair; do note "$contender" "${pair#*=}" "$(awk -v name="${pair%%=*}" '$1 == name { print name ~ /bytes/ ? int($2) : $2 }' "$file")"; done
}
round_kernel_sync() {
  kernel_sync_bench --compat "${COMPAT_MODE:-0}" --prefixes "$LAB_DIR/prefixes4" --ipv6 "$LAB_DIR/prefixes6" --count 10000000 >"$LAB_DIR/sync.out"
  figures kernel_sync "$LAB_DIR/sync.out" import=import failover=failover failover-ipv6=failover-ipv6 one-route=one-route withdraw=flush \
    trie-bytes=trie-bytes agent-bytes=agent-bytes resident-growth-bytes=resident-bytes audit=audit restart=restart
  kernel_sync_bench --compat "${COMPAT_MODE:-0}" --prefixes "$LAB_DIR/prefixes4" --count "$GROUP_ROUTES" --groups 1 >"$LAB_DIR/sync.out"
  figures kernel_sync "$LAB_DIR/sync.out" withdraw=withdraw
  [ "$(awk '$1 == "left" { print $2 }' "$LAB_DIR/sync.out")" = 0.000 ] || die "kernel_sync left routes behind"
}
round_floor() {
  netlink_floor table --prefixes "$LAB_DIR/prefixes" --count 10000000 >"$LAB_DIR/floor.out"
  figures floor "$LAB_DIR/floor.out" add=import dump=list "replace-nexthop-mode-${COMPAT_MODE:-0}=failover" \
    "replace-nexthop-ipv6-mode-${COMPAT_MODE:-0}=failover-ipv6" one=one-route delete-one-by-one=flush
}
round_floor_withdraw() {
  netlink_floor withdraw --prefixes "$LAB_DIR/prefixes4" --count "$GROUP_ROUTES" >"$LAB_DIR/floor.out"
  figures floor "$LAB_DIR/floor.out" delete-the-group=withdraw
}
of() { if [ -s "$LAB_DIR/kernel.$1.$2" ]; then median <"$LAB_DIR/kernel.$1.$2"; else echo -; fi; }

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  export BENCH=$LAB_SOURCE/tests/bench/kernel.sh GROUP_ROUTES
  real_ipv4 | sed -n "1,${ROUTES:-10000000}p" >"$LAB_DIR/prefixes4"
  real_ipv6 | sed -n "1,${ROUTES:-10000000}p" >"$LAB_DIR/prefixes6"
  cat "$LAB_DIR/prefixes4" "$LAB_DIR/prefixes6" >"$LAB_DIR/prefixes"
  {
    for i in $(seq 0 63); do
      echo "nexthop add id $((1 + i)) via 10.7.0.$((2 + i)) dev e0"
      echo "nexthop add id $((101 + i)) via 10.8.0.$((2 + i)) dev e1"
      echo "nexthop add id $((1001 + i)) group $((1 + i))/$((101 + i))"
    done
    echo "nexthop add id 201 via 2001:db8:70::2 dev e0"
    awk '{ print "route add " $1 " nhid " 1001 + NR % 64 }' "$LAB_DIR/prefixes4"
    awk '{ print "route add " $1 " nhid 201" }' "$LAB_DIR/prefixes6"
  } >"$LAB_DIR/table.batch"
  { one_way; sed -n "1,${GROUP_ROUTES}p" "$LAB_DIR/prefixes4" | awk '{ print "route add " $1 " nhid 100" }'; } >"$LAB_DIR/one-group.batch"
  for round in $(seq "$ROUNDS"); do
    for contender in ip floor kernel_sync waypost ip_withdraw floor_withdraw waypost_withdraw; do fresh "round_$contender" >&2; done
    echo "round $round done" >&2
  done
  echo "$(wc -l <"$LAB_DIR/prefixes") routes, withdrawal of $(($(wc -l <"$LAB_DIR/one-group.batch") - 3)); nexthop_compat_mode ${COMPAT_MODE:-0}; milliseconds, median of $ROUNDS"
  printf '%-14s %10s %10s %12s %10s   %s\n' "" ip floor kernel_sync waypost "kernel_sync/floor  waypost/floor  waypost/ip"
  for what in import list failover failover-ipv6 one-route withdraw flush; do
    ip_ms=$(of ip $what) floor_ms=$(of floor $what) sync_ms=$(of kernel_sync $what) ours=$(of waypost $what)
    printf '%-14s %10s %10s %12s %10s   %17s  %13s  %10s\n' $what "$ip_ms" "$floor_ms" "$sync_ms" "$ours" \
      "$(ratio "$sync_ms" "$floor_ms")" "$(ratio "$ours" "$floor_ms")" "$(ratio "$ours" "$ip_ms")"
  done
  echo "aims: import kernel_sync/floor 1.50, waypost/floor 2.50; withdraw 2000 ms; failover 50 ms; one-route 5 ms (kernel_sync: commit to kernel)"
  echo "restart over all of it $(of kernel_sync restart) ms, one audit $(of kernel_sync audit) ms"
  echo "memory: tries $(of kernel_sync trie-bytes) bytes, kernel_sync as a whole $(of kernel_sync agent-bytes), the process grew by $(of kernel_sync resident-bytes)"
fi
