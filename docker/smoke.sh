#!/usr/bin/env bash
# Runs the commands of docker/README.md, top to bottom, and checks what each section promises. Needs docker-compose and a Docker (or
# podman) socket; `./dev cluster --containers` brings both.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export COMPOSE_PROJECT_NAME=waypost
command -v docker >/dev/null 2>&1 && docker info >/dev/null 2>&1 && engine=docker || engine=podman
# ./dev cluster --containers names the engine's private storage in the environment.

die() { echo "error: $*" >&2; $engine ps -a >&2 || true; exit 1; }
say() { printf '\n-- %s (%s s)\n' "$*" "$SECONDS"; }
wait_until() { local end=$((SECONDS + $1)); shift; until "$@" >/dev/null 2>&1; do [ $SECONDS -lt $end ] || return 1; sleep 0.3; done; }
name() { $engine ps -a --format '{{.Names}}' | grep -E "^waypost[_-]$1([_-]1)?$"; }
in_() { local service=$1; shift; $engine exec "$(name "$service")" "$@"; }
ready() { in_ "$1" waypost --timeout 2s route list; }
has() { in_ "$1" ip -4 route show proto 87 | grep -q "$2"; }
lacks() { ! has "$@"; }

# README: from nothing to a route in three kernels
say "up"
$engine network inspect waypost >/dev/null 2>&1 || $engine network create --subnet 10.201.0.0/24 waypost >/dev/null
docker-compose -f "$here/compose.yaml" up -d
for n in n1 n2 n3; do wait_until 60 ready $n || { $engine logs "$(name $n)" 2>&1 | tail -n 20; die "$n is not ready"; }; done
say "one route, three kernels"
in_ n1 waypost nexthop add id 1 via 10.201.0.1 dev eth0
in_ n2 waypost route add 198.51.100.0/24 nhid 1
for n in n1 n2 n3; do wait_until 15 has $n 198.51.100.0/24 || die "$n has no route"; done
in_ n3 ip route show proto 87
in_ n1 waypost cluster check || die "cluster check is not content"

# README: kill a member
say "kill a member: the others go on, and it catches up when it is back"
$engine kill "$(name n2)" >/dev/null
in_ n1 waypost route add 203.0.113.0/24 nhid 1
$engine start "$(name n2)" >/dev/null
wait_until 60 ready n2 || die "n2 did not come back"
wait_until 15 has n2 203.0.113.0/24 || die "n2 has not the route added while it was away"

# README: pause an etcd server
say "pause an etcd server: two of three are enough"
$engine pause "$(name etcd1)" >/dev/null
in_ n3 waypost --timeout 20s route add 192.0.2.0/24 nhid 1 || die "no write with two of three etcd servers"
$engine unpause "$(name etcd1)" >/dev/null
for n in n1 n2 n3; do wait_until 20 has $n 192.0.2.0/24 || die "$n has no 192.0.2.0/24"; done

# README: cut a member off
say "cut a member off: it goes on without the log, and has everything again when it is back"
$engine network disconnect waypost "$(name n3)"
in_ n1 waypost --timeout 20s route add 198.18.0.0/24 nhid 1 || die "no write with a member cut off"
$engine network connect --ip 10.201.0.23 waypost "$(name n3)"
wait_until 60 ready n3 || die "n3 did not come back"
for route in 192.0.2.0/24 198.18.0.0/24; do wait_until 15 has n3 $route || die "n3 has no $route"; done

# README: reboot a host
say "reboot a host: an empty FIB, filled from its own disk"
$engine kill "$(name n1)" >/dev/null
$engine start "$(name n1)" >/dev/null
for route in 192.0.2.0/24 198.18.0.0/24; do wait_until 60 has n1 $route || die "n1 has no $route"; done
wait_until 60 ready n1 || die "n1 did not come back"

# README: add and remove a member
say "add and remove a member"
$engine run -d --name n4 --network waypost --ip 10.201.0.24 --cap-drop ALL --cap-add NET_ADMIN -v n4:/var/lib/waypost "${IMAGE:-waypost}" \
  --name n4 --data-dir /var/lib/waypost --listen 10.201.0.24:7601 --http 0.0.0.0:7602 \
  --log etcd://10.201.0.11:2379,10.201.0.12:2379,10.201.0.13:2379 --cluster lab --join --bootstrap --kernel-sync >/dev/null
member() { in_ n1 waypost cluster members | grep "^n4 .* yes "; }
for route in 192.0.2.0/24 198.18.0.0/24; do
  wait_until 60 sh -c "$engine exec n4 ip -4 route show proto 87 | grep -q $route" || { $engine logs n4 2>&1 | tail -n 5; die "n4 has no $route"; }
done
wait_until 15 member || die "n4 is no member"
$engine healthcheck run n4 >/dev/null 2>&1 || [ "$engine" = docker ] || die "the health check of n4 fails"
$engine stop -t 10 n4 >/dev/null
$engine rm n4 >/dev/null
in_ n1 waypost cluster remove n4
no_member() { ! member; }
wait_until 3 no_member || die "n4 is still a member"
$engine volume rm n4 >/dev/null

# README: take it all away
say "withdraw and stop"
in_ n1 waypost route flush table all
for n in n1 n2 n3; do wait_until 15 lacks $n 198.51.100.0/24 || die "$n still has the route"; done
docker-compose -f "$here/compose.yaml" down -v
$engine network rm waypost >/dev/null
[ -z "$($engine ps -aq)$($engine volume ls -q)" ] || die "containers or volumes are left"
say "smoke test passed"
