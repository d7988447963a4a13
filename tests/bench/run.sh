#!/usr/bin/env bash
# usage: ./dev bench [NAME...]
#   trie         the trie beside DPDK's rte_rib and rte_fib
#   store        apply and scan beside a bare RocksDB loop
#   import       720,022 two-path routes, file to kernel, beside `ip -batch` and the kernel's own floor
#   list         1,050,624 and 2,101,248 nexthops beside `ip -6 nexthop list`
#   flush        the same flushed, in no group and in two-member groups, beside `ip -6 nexthop flush`
#   kernel       the full table: import, list, failover, one route, withdrawal with the group, flush, beside `ip` and the floor
#   seed         232,144 contiguous /24 under a /20, in the trie and end to end to the kernel, by eighths
#   replication  one member on three etcd servers beside bare puts to them
#   words        batch lines to commands to bytes and back
# Ratios matter; seconds do not travel. Every rival runs in the same run, interleaved, medians of ROUNDS (default 5).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$here/../.." && pwd)/build/bin
names=${*:-trie store words import list flush kernel seed}
for name in $names; do
  printf '\n== bench %s\n' "$name"
  case $name in
    trie) "$bin/trie_bench" ;;
    store) "$bin/store_bench" ;;
    words) "$bin/words_bench" ;;
    import | list | flush | kernel | seed | replication) "$here/$name.sh" ;;
    *)
      echo "error: no bench is called '$name'" >&2
      exit 1
      ;;
  esac
done
