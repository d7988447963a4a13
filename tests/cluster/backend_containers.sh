# Hosts as containers on one podman network: a container that only sleeps holds a host's network namespace and its FIB, and the etcd
# server or member runs in a container beside it, so that either can go without the other. The same functions and addresses as
# backend_namespaces.sh; containers.sh has built the images.
declare -A PID=()      # of the podman that runs the process of a host, which ends with it
declare -A RUNNING=()  # host: 1 while its container exists
ETCD=${ETCD:-s1 s2 s3}
STATE=${WAYPOST_CONTAINER_STATE:-/var/tmp/waypost-containers}

host_number() { case $1 in s*) echo $((10 + ${1#s})) ;; *) echo $((20 + ${1#n})) ;; esac; }
host_address() { echo "10.9.0.$(host_number "$1")"; }
host_mac() { printf '02:00:00:00:00:%02x' "$(host_number "$1")"; }
each_etcd() { # FORMAT: for every etcd server its name and address, joined by commas
  local host out=
  # shellcheck disable=SC2059
  for host in $ETCD; do out+=${out:+,}$(printf "$1" "$host" "$(host_address "$host")"); done
  echo "$out"
}

network_up() {
  ip link set lo up
  # shellcheck source=containers_config.sh
  . "$here/containers_config.sh"
  write_config "$LAB_DIR/pod" "$LAB_DIR/pod/storage" /run/pod "$STATE/images"
  export CONTAINERS_STORAGE_CONF=$LAB_DIR/pod/storage.conf CONTAINERS_CONF=$LAB_DIR/pod/containers.conf
  podman network create --subnet 10.9.0.0/24 --gateway 10.9.0.254 --ipv6 --subnet fd09::/64 --gateway fd09::fe \
    --disable-dns part >/dev/null
}
filter_up() { # the bridge is there with the first container
  nft list table bridge part >/dev/null 2>&1 || nft -f - <<'N'
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
quietly() { "$@" >>"$LAB_DIR/podman.log" 2>&1; }
host_up() { # HOST
  quietly podman run -d --name "$1" --network part --ip "$(host_address "$1")" --ip6 "fd09::$(printf %x "$(host_number "$1")")" \
    --mac-address "$(host_mac "$1")" --sysctl net.ipv4.ip_forward=1 --sysctl net.ipv6.conf.all.forwarding=1 \
    --sysctl net.ipv6.conf.default.accept_dad=0 --sysctl net.ipv4.nexthop_compat_mode=0 --entrypoint /usr/bin/tini localhost/waypost:test -- sleep infinity
  RUNNING[$1]=1
  filter_up
}
host_down() { # HOST
  quietly podman rm -f -t 0 "$1" || true
  unset "RUNNING[$1]"
}
# With this machine's programs in the host's network.
on() {
  local host=$1
  shift
  nsenter --net="/proc/$(podman inspect --format '{{.State.Pid}}' "$host")/ns/net" "$@"
}
link_name() { # HOST: of the other end of its eth0, on the bridge
  local number
  number=$(on "$1" ip -o link show eth0 | sed -n 's/.*eth0@if\([0-9]*\):.*/\1/p')
  ip -o link | sed -n "s/^$number: \([^@:]*\).*/\1/p"
}
# container HOST IMAGE ARGS -- WORDS: in the foreground, in the network of HOST.
container() {
  local host=$1 image=$2
  shift 2
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  exec podman run --rm --name "$host-process" --network "container:$host" "${options[@]}" "localhost/$image:test" "$@"
}
become() { # HOST waypostd ARGS
  local host=$1
  shift 2
  container "$host" waypost --cap-drop ALL --cap-add NET_ADMIN -v "$LAB_DIR:$LAB_DIR" -- "$@"
}
etcd_start() { # HOST
  local address
  address=$(host_address "$1")
  mkdir -p "$LAB_DIR/$1"
  container "$1" waypost-etcd -v "$LAB_DIR/$1:/var/lib/etcd" -- --name="$1" --data-dir=/var/lib/etcd/data \
    --listen-client-urls="http://$address:2379" --advertise-client-urls="http://$address:2379" \
    --listen-peer-urls="http://$address:2380" --initial-advertise-peer-urls="http://$address:2380" \
    --initial-cluster="$(each_etcd '%s=http://%s:2380')" --snapshot-count=5000 --auto-compaction-mode=periodic \
    --auto-compaction-retention=5m --quota-backend-bytes="${ETCD_QUOTA:-4294967296}" >>"$LAB_DIR/$1.log" 2>&1 &
  PID[$1]=$!
}
member_start() { # HOST [ARGS]
  local host=$1 address kind=--join
  shift
  address=$(host_address "$host")
  [ "$host" != n1 ] || kind=
  mkdir -p "$LAB_DIR/$host" "$LAB_DIR/run-$host"
  # shellcheck disable=SC2086
  container "$host" waypost --cap-drop ALL --cap-add NET_ADMIN -v "$LAB_DIR:$LAB_DIR" -v "$LAB_DIR/run-$host:/run/waypost" -- \
    --name "$host" --data-dir "$LAB_DIR/$host" --listen "$address:7601" --http "$address:7602" \
    --log "etcd://$(each_etcd '%.0s%s:2379')" --cluster lab --bootstrap $kind --kernel-sync "$@" >>"$LAB_DIR/$host.log" 2>&1 &
  PID[$host]=$!
}
process_id() { pgrep -P "$(podman inspect --format '{{.State.Pid}}' "$1-process")"; } # behind the container's init
process_end() { # HOST SIGNAL
  quietly podman kill -s "$2" "$1-process" || true
  wait "${PID[$1]}" 2>/dev/null || true
  quietly podman rm -f -t 0 "$1-process" || true
}
process_kill() { process_end "$1" KILL; }
process_stop() { process_end "$1" TERM; }
process_pause() { quietly podman pause "$1-process"; }
process_resume() { quietly podman unpause "$1-process"; }
host_reboot() {
  process_kill "$1"
  host_down "$1"
  rm -rf "$LAB_DIR/run-$1"
  host_up "$1"
}
isolate() { nft add element bridge part cut "{ $(host_mac "$1") }"; }
rejoin() { nft delete element bridge part cut "{ $(host_mac "$1") }"; }
cut_one_way() { nft add element bridge part pair "{ $(host_mac "$1") . $(host_mac "$2") }"; }
heal_all() { nft flush set bridge part cut; nft flush set bridge part pair; }
link_down() { ip link set "$(link_name "$1")" down; }
link_up() { ip link set "$(link_name "$1")" up; }
disk_limit() { # HOST MIB: its data directory on a small disk, before its first start
  mkdir -p "$LAB_DIR/$1"
  mount -t tmpfs -o size="$2"m tmpfs "$LAB_DIR/$1"
}
disk_fill() { dd if=/dev/zero of="$LAB_DIR/$1/ballast" bs=1M status=none 2>/dev/null || true; }
disk_free() { rm -f "$LAB_DIR/$1/ballast"; }
backend_down() {
  local host
  for host in "${!PID[@]}"; do
    quietly podman unpause "$host-process" || true
    process_kill "$host"
  done
  for host in "${!RUNNING[@]}"; do host_down "$host"; done
  for host in n1 n2 n3 n4; do umount "$LAB_DIR/$host" 2>/dev/null || true; done
  [ -z "$(podman ps -aq)" ] || die "containers are left: $(podman ps -a --format '{{.Names}}' | tr '\n' ' ')"
}
