# Hosts as network namespaces on one bridge. Sourced inside lab.sh's private namespaces by cluster.sh, which says what each
# function promises; backend_containers.sh has the same functions.
#   ETCD: the hosts with an etcd server (default: s1 s2 s3)
#   sI: etcd server, 10.9.0.(10+I)      nI: member, 10.9.0.(20+I), fd09::(20+I)      bridge: 10.9.0.254, fd09::fe
declare -A PID=()      # of the etcd server or member on a host
declare -A RUNNING=()  # host: 1 while its network namespace exists

host_number() { case $1 in s*) echo $((10 + ${1#s})) ;; *) echo $((20 + ${1#n})) ;; esac; }
host_address() { echo "10.9.0.$(host_number "$1")"; }
host_mac() { printf '02:00:00:00:00:%02x' "$(host_number "$1")"; }

network_up() {
  ip link set lo up
  ip link add br0 type bridge forward_delay 0 stp_state 0 mcast_snooping 0
  sysctl -qw net.ipv6.conf.br0.accept_dad=0
  ip addr add 10.9.0.254/24 dev br0
  ip addr add fd09::fe/64 dev br0 nodad
  ip link set br0 up
  nft -f - <<'N'
table bridge part {
  set cut  { type ether_addr; }
  set pair { type ether_addr . ether_addr; }
  chain f { type filter hook forward priority 0; policy accept
    ether saddr @cut drop
    ether daddr @cut drop
    ether saddr . ether daddr @pair drop
  }
}
N
}

host_up() { # HOST
  local number mac
  number=$(host_number "$1")
  mac=$(host_mac "$1")
  ip netns add "$1"
  ip link add "v$1" type veth peer name eth0 address "$mac" netns "$1"
  ip link set "v$1" master br0 up
  on "$1" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.eth0.accept_dad=0
  on "$1" ip -batch - <<B
link set lo up
addr add 10.9.0.$number/24 dev eth0
addr add fd09::$(printf %x "$number")/64 dev eth0 nodad
link set eth0 up
route add default via 10.9.0.254
B
  RUNNING[$1]=1
}
host_down() { # HOST: its kernel state is gone
  ip netns del "$1"
  ip link del "v$1" 2>/dev/null || true
  unset "RUNNING[$1]"
}
on() { local host=$1; shift; ip netns exec "$host" "$@"; }
# In the background, as the very process that $! names, so that a signal reaches it and no shell in between.
become() { local host=$1; shift; exec ip netns exec "$host" "$@"; }

ETCD=${ETCD:-s1 s2 s3}
# each_etcd FORMAT: for every etcd server its name and address, joined by commas.
each_etcd() {
  local host out=
  # shellcheck disable=SC2059
  for host in $ETCD; do out+=${out:+,}$(printf "$1" "$host" "$(host_address "$host")"); done
  echo "$out"
}
etcd_start() { # HOST
  local address
  address=$(host_address "$1")
  become "$1" etcd --name="$1" --data-dir="$LAB_DIR/$1" --listen-client-urls="http://$address:2379" \
    --advertise-client-urls="http://$address:2379" --listen-peer-urls="http://$address:2380" \
    --initial-advertise-peer-urls="http://$address:2380" \
    --initial-cluster="$(each_etcd '%s=http://%s:2380')" \
    --snapshot-count=5000 --auto-compaction-mode=periodic --auto-compaction-retention=5m \
    --quota-backend-bytes=${ETCD_QUOTA:-4294967296} >>"$LAB_DIR/$1.log" 2>&1 &
  PID[$1]=$!
}
member_start() { # HOST [ARGS]
  local host=$1 address kind=--join
  shift
  address=$(host_address "$host")
  [ "$host" != n1 ] || kind=
  mkdir -p "$LAB_DIR/$host" "$LAB_DIR/run-$host"
  # A /run of its own: it is where kernel_sync keeps the proof that store and FIB belong together.
  become "$host" unshare --mount --propagation private bash -c "mount --bind '$LAB_DIR/run-$host' /run/waypost && exec \"\$@\"" member \
    waypostd --name "$host" --data-dir "$LAB_DIR/$host" --listen "$address:7601" --http "$address:7602" \
    --log "etcd://$(each_etcd '%.0s%s:2379')" --cluster lab --bootstrap $kind --kernel-sync "$@" \
    >>"$LAB_DIR/$host.log" 2>&1 &
  PID[$host]=$!
}
process_id() { echo "${PID[$1]}"; }
process_kill() { kill -9 "${PID[$1]}" 2>/dev/null || true; wait "${PID[$1]}" 2>/dev/null || true; }
process_stop() { kill "${PID[$1]}" 2>/dev/null || true; wait "${PID[$1]}" 2>/dev/null || true; }
process_pause() { kill -STOP "${PID[$1]}"; }
process_resume() { kill -CONT "${PID[$1]}"; }
host_reboot() { # a member's host loses its processes, its kernel's FIB and its /run
  process_kill "$1"
  host_down "$1"
  rm -rf "$LAB_DIR/run-$1"
  host_up "$1"
}
isolate() { nft add element bridge part cut "{ $(host_mac "$1") }"; }
rejoin() { nft delete element bridge part cut "{ $(host_mac "$1") }"; }
cut_one_way() { nft add element bridge part pair "{ $(host_mac "$1") . $(host_mac "$2") }"; }
heal_all() { nft flush set bridge part cut; nft flush set bridge part pair; }
link_down() { ip link set "v$1" down; }
link_up() { ip link set "v$1" up; }
disk_limit() { # HOST MIB: its data directory on a small disk, before its first start
  mkdir -p "$LAB_DIR/$1"
  mount -t tmpfs -o size="$2"m tmpfs "$LAB_DIR/$1"
}
disk_fill() { dd if=/dev/zero of="$LAB_DIR/$1/ballast" bs=1M status=none 2>/dev/null || true; }
disk_free() { rm -f "$LAB_DIR/$1/ballast"; }
backend_down() {
  local host
  for host in "${!PID[@]}"; do kill -CONT "${PID[$host]}" 2>/dev/null || true; process_kill "$host"; done
  for host in "${!RUNNING[@]}"; do host_down "$host"; done
  for host in n1 n2 n3 n4; do umount "$LAB_DIR/$host" 2>/dev/null || true; done
}
