# ROUNDS (default 5) times -9 at random moments under load from 8 clients through all members: to a member, to an etcd server, to
# everything at once. Each round all are back and took writes again; SEED (default: random, printed) chooses the victims. Half of the
# clients add routes that are counted in the end, the others write a history that must be linearizable. FULL=1: under a full table.
ROUNDS=${ROUNDS:-5}
SEED=${SEED:-$((RANDOM + 1))}
RANDOM=$SEED
echo "SEED=$SEED ROUNDS=$ROUNDS"
declare -A KILLS=([member]=0 [etcd]=0 [all]=0) SLOWEST=([member]=0 [etcd]=0 [all]=0)
cluster_up
setup_nexthops
if [ -n "${FULL:-}" ]; then
  full_table >"$LAB_DIR/table.batch"
  start=$(now_ms)
  wp n1 -batch "$LAB_DIR/table.batch" --wait=fib --timeout 600s
  echo "full table through n1 into three kernels: $(($(now_ms) - start)) ms"
fi
echo 0 >"$LEDGER/round"
writers_start 4 n1 n2 n3
"$here/clients.py" "$LEDGER" 4 10.9.0.21:7601 10.9.0.22:7601 10.9.0.23:7601 >"$LEDGER/clients.out" 2>&1 &
WRITERS+=($!)
progress_needed 20
for round in $(seq "$ROUNDS"); do
  echo "$round" >"$LEDGER/round"
  case $((RANDOM % 5)) in
    0 | 1) kind=member victims=(n$((1 + RANDOM % 3))) ;;
    2 | 3) kind=etcd victims=(s$((1 + RANDOM % 3))) ;;
    4) kind=all victims=(s1 s2 s3 n1 n2 n3) ;;
  esac
  sleep "0.$((RANDOM % 10))"
  for host in "${victims[@]}"; do process_kill "$host"; done
  KILLS[$kind]=$((KILLS[$kind] + 1))
  sleep "0.$((RANDOM % 10))"
  start=$(now_ms)
  for host in "${victims[@]}"; do case $host in s*) etcd_start "$host" ;; n*) member_start "$host" ;; esac; done
  wait_until 30 etcd_healthy || die "round $round: etcd did not heal"
  for host in n1 n2 n3; do wait_until 30 member_ready "$host" || { tail -n 30 "$LAB_DIR/$host.log"; die "round $round: $host did not come back after $kind"; }; done
  took=$(($(now_ms) - start))
  [ "$took" -le "${SLOWEST[$kind]}" ] || SLOWEST[$kind]=$took
  progress_needed 5
done
writers_stop
tail -n 1 "$LEDGER/clients.out"
history_check "$LEDGER"/history.* || die "the clients' history is not linearizable"
echo "$ROUNDS rounds: ${KILLS[member]} members (back in at most ${SLOWEST[member]} ms), ${KILLS[etcd]} etcd servers (${SLOWEST[etcd]} ms), ${KILLS[all]} times all (${SLOWEST[all]} ms)"
