# A table goes in through one member while clients write through the others: nothing is lost, and all hold the same. ROUTES (default
# 20,000) of the real table, FULL=1: all of it; ETCD=s1: on one etcd server.
cluster_up
setup_nexthops
full_table | if [ -n "${FULL:-}" ]; then cat; else sed -n "1,${ROUTES:-20000}p"; fi >"$LAB_DIR/table.batch"
writers_start 4 n2 n3
progress_needed 10
before=$(acknowledged) start=$(now_ms)
wp n1 -batch "$LAB_DIR/table.batch" --timeout 600s
took=$(($(now_ms) - start))
between=$(($(acknowledged) - before))
writers_stop
for host in n1 n2 n3; do wp "$host" fib wait --timeout 120s 2>/dev/null || die "$host: kernel_sync is not in sync"; done
echo "$(wc -l <"$LAB_DIR/table.batch") lines through n1 in $took ms, in all kernels after $(($(now_ms) - start)) ms; $between changes acknowledged by n2 and n3 meanwhile"
[ "$between" -gt 0 ] || die "n2 and n3 took no changes while n1 imported"
wait_until 30 same_digest || die "digests differ"
echo "revision and digest of all: $(digest_of n1)"
