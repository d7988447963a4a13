#!/usr/bin/env bash
# usage: ./dev cluster --containers [--prebuilt] [SCENARIO... | all]
# Builds the two images with podman and runs docker/smoke.sh against a private podman with a Docker API socket, inside private net, mount and
# pid namespaces: no container, network or process outlives it. Where no image registry can be reached, debootstrap makes the
# base image from Debian's packages. --prebuilt: the images take build/bin instead of compiling again. With scenarios it runs those of
# tests/cluster/scenarios on containers instead of the smoke test. Needs root.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
state=${WAYPOST_CONTAINER_STATE:-/var/tmp/waypost-containers}
[ "$(id -u)" = 0 ] || exec sudo -E "$0" "$@"
binaries=build
[ "${1:-}" != --prebuilt ] || { binaries=prebuilt; shift; }
say() { printf '\n-- %s (%s s)\n' "$*" "$SECONDS"; }

packages="podman runc iptables netavark aardvark-dns catatonit docker-compose debootstrap nftables iproute2"
missing=
for name in $packages; do dpkg -s "$name" >/dev/null 2>&1 || missing="$missing $name"; done
if [ -n "$missing" ]; then
  say "installing$missing"
  # shellcheck disable=SC2086
  { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing; } >/dev/null
fi

# shellcheck source=containers_config.sh
. "$source_dir/tests/cluster/containers_config.sh"
mkdir -p "$state"
write_config "$state/config" "$state/images" "$state/run"
builder() { CONTAINERS_STORAGE_CONF=$state/config/storage.conf CONTAINERS_CONF=$state/config/containers.conf podman "$@"; }

base=docker.io/library/debian:bookworm-slim
if ! builder image exists $base && ! builder pull -q $base >/dev/null 2>&1; then
  say "making the base image with debootstrap"
  [ -e "$state/rootfs/.complete" ] || {
    rm -rf "$state/rootfs"
    debootstrap --variant=minbase bookworm "$state/rootfs" >"$state/debootstrap.log" 2>&1
    touch "$state/rootfs/.complete"
  }
  tar -C "$state/rootfs" --exclude='./var/cache/apt/*' --exclude='./var/lib/apt/lists/*' --exclude='./proc/*' --exclude='./sys/*' -c . |
    builder import -q - $base >/dev/null
fi

say "building the images"
builder build -q --format docker --network=host --build-arg BINARIES=$binaries -t localhost/waypost:test -f "$source_dir/docker/Dockerfile" "$source_dir"
builder build -q --format docker --network=host --target etcd -t localhost/waypost-etcd:test -f "$source_dir/docker/Dockerfile" "$source_dir"
builder images --format '{{.Repository}}:{{.Tag}}  {{.Size}}' | grep localhost/waypost
if [ $# -gt 0 ]; then
  say "scenarios on containers"
  export BACKEND=containers JOBS=${JOBS:-1}
  exec "$source_dir/tests/cluster/cluster.sh" "$@"
fi
say "smoke test"
export -f write_config
export STATE=$state SMOKE=$source_dir/docker/smoke.sh IMAGE=localhost/waypost:test ETCD_IMAGE=localhost/waypost-etcd:test
exec unshare --mount --net --pid --fork --mount-proc --kill-child --propagation private bash -c '
  set -e
  ip link set lo up
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/lock /run/podman
  write_config /run/pod /run/pod/storage /run/pod/run "$STATE/images"
  export CONTAINERS_STORAGE_CONF=/run/pod/storage.conf CONTAINERS_CONF=/run/pod/containers.conf DOCKER_HOST=unix:///run/podman/podman.sock
  podman system service --time=0 "$DOCKER_HOST" >/run/pod/service.log 2>&1 &
  service=$!
  for i in $(seq 100); do [ -S /run/podman/podman.sock ] && break; sleep 0.1; done
  rc=0
  bash "$SMOKE" || rc=$?
  podman rm -f -a -t 0 >/dev/null 2>&1 || true
  kill $service
  exit $rc'
