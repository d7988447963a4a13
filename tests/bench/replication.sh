#!/usr/bin/env bash
# One member beside raw etcd, on the same servers, disk and durability, in one run: three etcd servers on one host.
# shellcheck source=../lab/lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lab/lab.sh"
ip link set lo up
endpoints=
cluster=
for i in 1 2 3; do cluster+="${cluster:+,}s$i=http://127.0.0.1:238$i"; endpoints+="${endpoints:+,}127.0.0.1:237$i"; done
for i in 1 2 3; do
  etcd --name=s$i --data-dir="$LAB_DIR/s$i" --listen-client-urls=http://127.0.0.1:237$i \
    --advertise-client-urls=http://127.0.0.1:237$i --listen-peer-urls=http://127.0.0.1:238$i \
    --initial-advertise-peer-urls=http://127.0.0.1:238$i --initial-cluster="$cluster" --snapshot-count=5000 \
    --quota-backend-bytes=4294967296 >"$LAB_DIR/s$i.log" 2>&1 &
done
healthy() { ETCDCTL_API=3 etcdctl --endpoints="$endpoints" --command-timeout=2s endpoint health >/dev/null 2>&1; }
for _ in $(seq 100); do healthy && break || sleep 0.2; done
healthy || { tail -n 5 "$LAB_DIR"/s*.log >&2; die "etcd has no leader"; }
replication_bench "$endpoints" "$LAB_DIR"
