# What every scenario starts from and ends with. A ledger holds what was acknowledged; unknown outcomes are kept apart.
LEDGER=$LAB_DIR/ledger
mkdir -p "$LEDGER"
WRITERS=()

wait_until() { # SECONDS COMMAND...
  local end=$((SECONDS + $1))
  shift
  until "$@"; do [ "$SECONDS" -lt "$end" ] || return 1; sleep 0.2; done
}
etcd_healthy() { on s1 etcdctl --endpoints=http://10.9.0.11:2379 --command-timeout=2s endpoint health >/dev/null 2>&1; }
etcd_leader() { # the host that leads
  local i
  for i in 1 2 3; do
    on s$i env ETCDCTL_API=3 etcdctl --endpoints="http://10.9.0.1$i:2379" --command-timeout=2s endpoint status -w fields 2>/dev/null |
      awk -F' : ' '/"MemberID"/ {m=$2} /"Leader"/ {l=$2} END {exit !(m == l && m != "")}' && { echo s$i; return; }
  done
  return 1
}
export ETCDCTL_API=3
wp() { # HOST ARGS...: the CLI against that member alone
  local host=$1
  shift
  WAYPOST_ENDPOINTS=$(host_address "$host"):7601 waypost "$@"
}
member_ready() { wp "$1" --timeout 2s route list >/dev/null 2>&1; }

# setup_nexthops: one nexthop that every host can install, through the bridge.
setup_nexthops() { wp n1 nexthop add id 1 via 10.9.0.254 dev eth0; }

# full_table: the real table as batch lines, over nexthops 11 and 12 that every host can install.
full_table() {
  { real_ipv4; real_ipv6; } | awk 'BEGIN { print "nexthop add id 11 via 10.9.0.254 dev eth0"; print "nexthop add id 12 via fd09::fe dev eth0" }
    { print "route add " $1 " nhid " ($1 ~ /:/ ? 12 : 11) }'
}

# writer N HOSTS: adds routes 10.(100+N).x.y/32 one by one, through the given members in turn, until stopped.
writer() {
  local number=$1 i=0 host prefix rc
  shift
  local hosts=("$@")
  while [ ! -e "$LEDGER/stop" ]; do
    host=${hosts[$((i % ${#hosts[@]}))]}
    prefix=10.$((100 + number)).$((i / 256)).$((i % 256))
    rc=0
    wp "$host" --timeout 5s route add "$prefix/32" nhid 1 >>"$LEDGER/writer$number.out" 2>&1 || rc=$?
    case $rc in
      0) echo "$prefix" >>"$LEDGER/acknowledged.$number" ;;
      6) echo "$prefix" >>"$LEDGER/unknown.$number" ;;
      *) echo "$prefix rc=$rc $host" >>"$LEDGER/refused.$number"; sleep 0.1 ;;
    esac
    i=$((i + 1))
  done
}
writers_start() { # COUNT HOSTS...
  local count=$1 n
  shift
  rm -f "$LEDGER/stop"
  for n in $(seq "$count"); do
    writer "$n" "$@" &
    WRITERS+=($!)
  done
}
writers_stop() {
  touch "$LEDGER/stop"
  local pid
  for pid in "${WRITERS[@]}"; do wait "$pid" 2>/dev/null || true; done
  WRITERS=()
}
acknowledged() { cat "$LEDGER"/acknowledged.* 2>/dev/null | wc -l; }
progress_needed() { # COUNT: the writers must get this many more acknowledgements within 30 s
  local want=$(($(acknowledged) + $1))
  wait_until 30 eval "[ \$(acknowledged) -ge $want ]" || die "no progress: $(acknowledged) acknowledged, wanted $want"
}

store_routes_of() { wp "$1" "${@:2}" route list table all | awk '{print $1}' | sort; }
kernel_routes_of() { { on "$1" ip -4 route show table all proto 87; on "$1" ip -6 route show table all proto 87; } | awk '{print $1}' | sort; }
digest_of() { wp "$1" -j node show "$1" | sed -n 's/.*"revision":\([0-9]*\).*"data_digest":"\([0-9a-f]*\)".*/\1 \2/p'; }
same_digest() {
  local first other host
  first=$(digest_of n1)
  [ -n "$first" ] || return 1
  for host in "${MEMBERS[@]}"; do
    other=$(digest_of "$host")
    [ "$first" = "$other" ] || return 1
  done
}
MEMBERS=(n1 n2 n3)

# check_all: nothing acknowledged missing, nothing there that nobody asked for, digests equal, kernels equal to the store.
check_all() {
  writers_stop
  heal_all
  local host
  for host in "${MEMBERS[@]}"; do
    wait_until 60 member_ready "$host" || { tail -n 30 "$LAB_DIR/$host.log"; die "$host does not answer after healing"; }
  done
  cat "$LEDGER"/acknowledged.* 2>/dev/null | sort >"$LEDGER/acknowledged" || true
  cat "$LEDGER"/acknowledged.* "$LEDGER"/unknown.* 2>/dev/null | sort >"$LEDGER/possible" || true
  for host in "${MEMBERS[@]}"; do
    store_routes_of "$host" >"$LEDGER/store.$host"
    comm -23 "$LEDGER/acknowledged" "$LEDGER/store.$host" >"$LEDGER/missing"
    [ ! -s "$LEDGER/missing" ] || die "$host lacks $(wc -l <"$LEDGER/missing") acknowledged routes, for example $(head -n 1 "$LEDGER/missing")"
    comm -13 "$LEDGER/possible" "$LEDGER/store.$host" | grep '^10\.1' >"$LEDGER/extra" || true
    [ ! -s "$LEDGER/extra" ] || die "$host has $(wc -l <"$LEDGER/extra") routes that were refused, for example $(head -n 1 "$LEDGER/extra")"
  done
  wait_until 30 same_digest || die "digests differ: $(for host in "${MEMBERS[@]}"; do echo "$host $(digest_of "$host");"; done)"
  for host in "${MEMBERS[@]}"; do
    wp "$host" fib wait --timeout 60s || die "$host: kernel_sync is not in sync: $(wp "$host" fib status)"
    kernel_routes_of "$host" >"$LEDGER/kernel.$host"
    store_routes_of "$host" --stale >"$LEDGER/store.$host"
    cmp -s "$LEDGER/store.$host" "$LEDGER/kernel.$host" ||
      die "$host: the kernel differs from the store: $(diff "$LEDGER/store.$host" "$LEDGER/kernel.$host" | head -n 3)"
  done
  echo "checked: $(wc -l <"$LEDGER/acknowledged") acknowledged, $(cat "$LEDGER"/unknown.* 2>/dev/null | wc -l) unknown, $(cat "$LEDGER"/refused.* 2>/dev/null | wc -l) refused; stores, digests and kernels agree"
}
check_nothing_left() {
  local left
  left=$(ip netns list | wc -l)
  [ "$left" = 0 ] || die "$left network namespaces are left"
  left=$(pgrep -c waypostd || true)
  [ "${left:-0}" = 0 ] || die "$left waypostd processes are left"
}
