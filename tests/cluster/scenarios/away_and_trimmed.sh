# A member is away while COUNT (default 20,000) changes are made, and the log is then trimmed past it: it comes back by a snapshot
# of another, in flat memory, and the others go on meanwhile. FULL=1: under a full table, with COUNT=1000000 by default.
COUNT=${COUNT:-${FULL:+1000000}}
COUNT=${COUNT:-20000}
cluster_up
setup_nexthops
if [ -n "${FULL:-}" ]; then
  full_table >"$LAB_DIR/table.batch"
  wp n1 -batch "$LAB_DIR/table.batch" --timeout 600s
fi
process_stop n3
awk -v n="$COUNT" 'BEGIN { for (i = 0; i < n; i++) printf "route replace 12.%d.%d.0/24 nhid 1 metric %d\n", i / 256 % 256, i % 256, i / 65536 }' >"$LAB_DIR/changes.batch"
wp n1 -batch "$LAB_DIR/changes.batch" --timeout 600s
tail_position() { wp n1 -j node show | sed -n 's/.*"tail":\([0-9]*\).*/\1/p'; }
trimmed() { [ "$(wp n1 -j cluster trim | sed -n 's/.*"first":\([0-9]*\).*/\1/p')" = $(($(tail_position) + 1)) ]; }
wait_until 30 trimmed || die "the log was not trimmed to its end"

# latencies FILE SECONDS: milliseconds of one change after the other through n2.
latencies() {
  local end=$((SECONDS + $2)) start i=0
  while [ $SECONDS -lt $end ]; do
    start=$(now_ms)
    wp n2 route replace 13.0.0.0/24 nhid 1 metric $((i += 1)) || die "n2 takes no changes while n3 fetches"
    echo $(($(now_ms) - start))
  done >"$1"
}
quantiles() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "p50 %d ms, p99 %d ms of %d", v[int((NR + 1) / 2)], v[int(NR * 0.99)], NR }'; }
latencies "$LEDGER/quiet" 3
start=$(now_ms)
member_start n3
latencies "$LEDGER/busy" 5 &
WRITERS+=($!)
memory() { awk '/VmRSS/ { print $2 }' "/proc/$(process_id n3)/status" 2>/dev/null || echo 0; }
fetching() { grep -q "fetching a snapshot" "$LAB_DIR/n3.log"; }
fetched() { grep -q "serves clients" <(sed '1,/fetching a snapshot/d' "$LAB_DIR/n3.log"); }
wait_until 30 fetching || die "n3 takes no snapshot"
before=$(memory) most=0
# The database alone is looked at: what kernel_sync holds comes behind it.
until fetched; do
  now=$(memory)
  [ "$now" -le "$most" ] || most=$now
  [ $(($(now_ms) - start)) -lt 120000 ] || die "n3 did not come back"
  sleep 0.02
done
wait_until 30 member_ready n3 || die "n3 does not answer"
took=$(($(now_ms) - start))
writers_stop
moved=$(on n3 curl -s http://10.9.0.23:7602/metrics | awk '/^waypost_snapshot_received_bytes_total/ { print $2 }')
wp n1 snapshot save "$LEDGER/state" 2>/dev/null
echo "$COUNT changes behind: back after $took ms, memory grew by $(((most - before) / 1024)) MiB, $moved bytes moved for a state of $(stat -c %s "$LEDGER/state")"
echo "changes through n2: alone $(quantiles "$LEDGER/quiet"), meanwhile $(quantiles "$LEDGER/busy")"
[ $((most - before)) -lt 65536 ] || die "memory grew by $((most - before)) KiB"
