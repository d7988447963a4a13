#!/usr/bin/env bash
# Random changes through a waypostd that is killed with -9 at random points: no prefix that is wanted throughout is ever missing from
# the kernel, seen by questions and by a packet stream; other owners' objects stay as they are; in the end the kernel equals the store.
# usage: crash.sh [CHANGES] [SEED]        whole: crash.sh 100000
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
. "$LAB_SOURCE/tests/kernel/common.sh"
changes=${1:-600} seed=${2:-$RANDOM}
echo "seed $seed"
work=$LAB_DIR/changes
mkdir "$work"
"$LAB_SOURCE/tests/kernel/random_changes.py" "$seed" "$changes" "$work"
batches=$(find "$work" -name 'change.*' | wc -l)

# What others have: a default way over e2 that catches whatever has lost its own, nexthops, routes beside and below ours, and one
# over a nexthop of ours.
others() {
  ip link add e2 type veth peer name p2
  ip -batch - <<'B'
link set e2 up
link set p2 up
addr add 10.9.0.1/24 dev e2
addr add 2001:db8:79::1/64 dev e2 nodad
route add default via 10.9.0.2 dev e2 proto static
route add default via 2001:db8:79::2 dev e2 proto static
nexthop add id 70001 via 10.9.0.2 dev e2 proto bird
nexthop add id 70002 via 10.9.0.3 dev e2 proto bird
nexthop add id 70003 group 70001/70002 proto bird
nexthop add id 70004 via 2001:db8:79::2 dev e2 proto bird
B
  neighbours e2 -4 10.9.0.2 10.9.0.3
  neighbours e2 -6 2001:db8:79::2
  for i in $(seq 0 99); do
    echo "route add 20.0.$i.0/24 nhid 70003 metric 100 proto bird"
    echo "route add 23.0.$i.0/24 via 10.9.0.2 dev e2 proto bird"
    echo "route add 2001:db8:$(printf %x $((4096 + i)))::/48 nhid 70004 metric 4000 proto bird"
  done | ip -batch -
}
# As text, without what the kernel itself and we own; of nexthops only theirs.
theirs() { # FILE
  { ip nexthop show proto 12; for family in -4 -6; do ip $family route show table all; done; } | grep -v -e 'proto 87' -e 'proto kernel' | sort >"$1"
}
pause() { sleep "$(printf '0.%03d' $((RANDOM % $1)))"; }
start_daemon() {
  waypostd --name n1 --data-dir "$LAB_DIR/data" --listen 127.0.0.1:7601 --http 127.0.0.1:7602 --bootstrap --kernel-sync >>"$LAB_DIR/waypostd.log" 2>&1 &
  DAEMON=$!
}
# Kills it until there is a file `stop`: in most lives after it came up, in some on the way.
killer() {
  local kills=0
  while [ ! -e "$LAB_DIR/stop" ]; do
    start_daemon
    if [ $((RANDOM % 3)) = 0 ]; then pause 250; else daemon_wait; pause 900; fi
    daemon_kill
    kills=$((kills + 1))
    theirs "$LAB_DIR/theirs.now"
    cmp -s "$LAB_DIR/theirs" "$LAB_DIR/theirs.now" || { diff "$LAB_DIR/theirs" "$LAB_DIR/theirs.now" >"$LAB_DIR/theirs.diff"; break; }
  done
  echo $kills >"$LAB_DIR/kills"
}
# The number of the last change that the store has.
applied() { waypost route list table 4000 2>/dev/null | sed -n 's/.* metric \([0-9]*\).*/\1/p'; }
# one BATCH NUMBER: until the store has it, whatever happens to the daemon; refusals end the run.
one() {
  local rc=0 now
  while true; do
    waypost -batch "$1" --atomic --cascade --timeout 10s >"$LAB_DIR/batch.out" 2>&1 && return || rc=$?
    [ "$rc" = 5 ] || [ "$rc" = 6 ] || { cat "$LAB_DIR/batch.out" >&2; die "$1: exit code $rc"; }
    unsure=$((unsure + 1))
    until now=$(applied) && [ -n "$now" ]; do sleep 0.02; done
    [ "$now" != "$2" ] || return 0
  done
}

lab_uplinks
others
while read -r device family gateway; do
  echo "neigh replace $gateway lladdr 02:00:00:00:00:01 dev $device nud permanent" >>"$LAB_DIR/neighbours$family"
done <"$work/gateways"
for family in -4 -6; do ip $family -batch "$LAB_DIR/neighbours$family"; done

say "$(wc -l <"$work/setup.batch") lines to begin with"
start_daemon
daemon_wait
waypost -batch "$work/setup.batch" --wait=fib --timeout 60s
ip route add 23.1.0.0/24 nhid 900 proto static
theirs "$LAB_DIR/theirs"

say "$changes changes in $batches transactions, waypostd killed again and again"
cat "$work/always4" "$work/always6" >"$LAB_DIR/always"
watch_start --prefixes "$LAB_DIR/always" --packets "$LAB_DIR/always" --devices p0,p1 --trap p2
daemon_kill
start=$(now_ms)
killer &
killing=$!
unsure=0 number=1
for batch in "$work"/change.*; do
  number=$((number + 1))
  one "$batch" $number
  kill -0 $killing 2>/dev/null || die "other owners' objects changed: $(cat "$LAB_DIR/theirs.diff")"
done
took=$(($(now_ms) - start))
touch "$LAB_DIR/stop"
wait $killing
[ ! -e "$LAB_DIR/theirs.diff" ] || die "other owners' objects changed: $(cat "$LAB_DIR/theirs.diff")"
start_daemon
daemon_wait
no_differences
watch_stop
echo "$changes changes in $took ms, $(cat "$LAB_DIR/kills") times killed, $unsure times without an answer"

read -r routes nexthops <"$work/final"
agree() { [ "$2" = "$3" ] && [ "$2" = "$4" ] || die "$1: wanted $2, the store has $3, the kernel $4"; echo "$1: $2"; }
agree routes "$routes" "$({ waypost -4 route list table all; waypost -6 route list table all; } | grep -c '^[^[:space:]]')" "$(kernel_routes)"
# Inline paths are nexthops of their own in the kernel.
listed=$(waypost nexthop list | wc -l)
[ "$listed" = "$nexthops" ] || die "nexthops: wanted $nexthops, the store has $listed"
[ "$(waypost nexthop list -d | wc -l)" = "$(kernel_nexthops)" ] || die "nexthops: the store has $(waypost nexthop list -d | wc -l), the kernel $(kernel_nexthops)"
theirs "$LAB_DIR/theirs.now"
cmp "$LAB_DIR/theirs" "$LAB_DIR/theirs.now"
waypost fib status | tee "$LAB_DIR/status"
grep -q 'clean *yes' "$LAB_DIR/status" || die 'not clean'
daemon_stop
