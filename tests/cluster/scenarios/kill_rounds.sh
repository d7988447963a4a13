# ROUNDS (default 5) times -9 at random moments under load from 8 clients through all members: to a member, to an etcd server, to
# everything at once. Each round all are back and took writes again; SEED (default: random, printed) chooses the victims.
ROUNDS=${ROUNDS:-5}
SEED=${SEED:-$((RANDOM + 1))}
RANDOM=$SEED
echo "SEED=$SEED ROUNDS=$ROUNDS"
declare -A KILLS=([member]=0 [etcd]=0 [all]=0)
cluster_up
setup_nexthops
writers_start 8 n1 n2 n3
progress_needed 20
slowest_ms=0
for round in $(seq "$ROUNDS"); do
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
  for host in n1 n2 n3; do wait_until 30 member_ready "$host" || die "round $round: $host did not come back after $kind"; done
  took=$(($(now_ms) - start))
  [ "$took" -le "$slowest_ms" ] || slowest_ms=$took
  progress_needed 5
done
echo "$ROUNDS rounds: ${KILLS[member]} members, ${KILLS[etcd]} etcd servers, ${KILLS[all]} times all; back to service in at most $slowest_ms ms"
