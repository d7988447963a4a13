#!/usr/bin/env bash
# Three waypostd and one etcd on free ports of the loopback. One story a part:
#   members    every member takes changes, all hold the same state, a read at any sees what was acknowledged at another, and a
#              member that is started again, also behind a kill -9, goes on where it was
#   snapshots  a member that was away while the log was trimmed past it, and one whose directory is empty, take a snapshot of another
#   faults     what cannot work is said in words with the cure, at once, and reads go on
#   full       an etcd at its quota is named, and healed by what the words advise
#   parting    a member whose rows differ is named by the others with the first revision that does, and takes no changes
#   grow       a node of its own goes on in etcd with all that it held, and others join it
# usage: members_test.sh BIN_DIR PART
set -euo pipefail
bin=$(realpath "$1")
part=$2
work=$(mktemp -d)
declare -A pid=() port=()
cleanup() {
  local status=$?
  for name in "${!pid[@]}"; do kill -CONT "${pid[$name]}" 2>/dev/null || true; kill -9 "${pid[$name]}" 2>/dev/null || true; done
  wait 2>/dev/null || true
  if [ $status != 0 ] && [ -n "${VERBOSE-1}" ]; then for file in "$work"/*.log; do echo "--- $file"; grep -v "INFO\| I |" "$file" | tail -n 25; done; fi
  rm -rf "$work"
  exit $status
}
trap cleanup EXIT
die() { echo "FAILED: $*" >&2; exit 1; }

mapfile -t ports < <(python3 -c '
import socket
held = [socket.socket() for _ in range(12)]
for s in held: s.bind(("127.0.0.1", 0))
for s in held: print(s.getsockname()[1])')
for i in 1 2 3 4; do
  port[n$i]=${ports[$((i * 2))]}
  port[h$i]=${ports[$((i * 2 + 1))]}
done
etcd_url=127.0.0.1:${ports[0]}
log=etcd://$etcd_url

etcd_up() { # [ARGS]
  etcd --name s1 --data-dir "$work/etcd" --listen-client-urls "http://$etcd_url" --advertise-client-urls "http://$etcd_url" \
    --listen-peer-urls "http://127.0.0.1:${ports[1]}" --initial-advertise-peer-urls "http://127.0.0.1:${ports[1]}" \
    --initial-cluster "s1=http://127.0.0.1:${ports[1]}" "$@" >>"$work/etcd.log" 2>&1 &
  pid[etcd]=$!
  wait_until 10 etcd_serves || die "etcd does not serve"
}
etcd_serves() { ETCDCTL_API=3 etcdctl --endpoints "$etcd_url" endpoint health >/dev/null 2>&1; }
ctl() { ETCDCTL_API=3 etcdctl --endpoints "$etcd_url" "$@"; }

member() { # NAME ARGS: starts a member under --log and --cluster
  local name=$1
  shift
  alone "$name" --log "$log" --cluster lab "$@"
}
alone() { # NAME ARGS
  local name=$1
  shift
  "$bin/waypostd" --name "$name" --data-dir "$work/$name" --listen "127.0.0.1:${port[$name]}" --http "127.0.0.1:${port[h${name#n}]}" \
    "$@" >>"$work/$name.log" 2>&1 &
  pid[$name]=$!
}
stop() { kill "${2:--TERM}" "${pid[$1]}"; wait "${pid[$1]}" 2>/dev/null || true; unset "pid[$1]"; }
at() { # NAME WORDS: waypost at that node
  local name=$1
  shift
  WAYPOST_ENDPOINTS=127.0.0.1:${port[$name]} "$bin/waypost" "$@"
}
wait_until() { # SECONDS COMMAND
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}
ready() { [ "$(curl -s -o "$work/ready" -w '%{http_code}' "http://127.0.0.1:${port[h${1#n}]}/readyz?verbose")" = 200 ]; }
all_ready() { for name in "$@"; do wait_until 15 ready "$name" || { cat "$work/ready"; die "$name is not ready"; }; done; }
state() { # NAME: what two nodes with the same state print alike, at the newest revision
  at "$1" nexthop list >/dev/null
  at "$1" -j node show | python3 -c '
import json, sys
node = json.load(sys.stdin)
node = node[0] if isinstance(node, list) else node
print(*[node[key] for key in ("cluster", "history", "revision", "data_digest", "routes", "nexthops")])'
}
same_state() { # NAMES
  local first=$1 name
  for name in "$@"; do [ "$(state "$name")" = "$(state "$first")" ] || { state "$first"; state "$name"; return 1; }; done
}
# What a command that must fail says; its exit code is checked.
refused() { # CODE COMMAND
  local expected=$1 code=0
  shift
  "$@" >"$work/said" 2>&1 || code=$?
  [ "$code" = "$expected" ] || { cat "$work/said"; die "exit $code, not $expected: $*"; }
}
said() { grep -q -- "$1" "$work/said" || { cat "$work/said"; die "the words '$1' are missing"; }; }
says() { # WORDS COMMAND
  local words=$1
  shift
  "$@" >"$work/said" 2>&1 || true
  grep -q -- "$words" "$work/said"
}
start_refused() { # NAME WORDS ARGS: waypostd ends by itself and says the words
  local name=$1 words=$2 code=0
  shift 2
  timeout 20 "$bin/waypostd" --name "$name" --listen 127.0.0.1:0 "$@" >"$work/said" 2>&1 || code=$?
  [ "$code" = 2 ] || { cat "$work/said"; die "waypostd ended with $code, not 2"; }
  said "$words"
}
three() {
  etcd_up "$@"
  member n1 --bootstrap
  member n2 --join
  member n3 --join
  all_ready n1 n2 n3
}

part_members() {
  three
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  at n2 nexthop add id 2 via 192.0.2.2 dev eth0
  at n3 nexthop add id 100 group 1/2,3
  for i in $(seq 8); do
    for name in n1 n2 n3; do
      at "$name" route add "10.$i.${name#n}.0/24" nhid 100
      # What one member acknowledged, the next one shows.
      local next=n$((${name#n} % 3 + 1))
      [ -n "$(at "$next" route show "10.$i.${name#n}.0/24")" ] || die "$next does not show what $name acknowledged"
    done
  done
  for name in n1 n2 n3; do
    seq 1 2000 | sed "s|.*|route add 172.${name#n}.&.0/24 nhid 1|; s|\.\([0-9]*\)\.0/24|.$((16 + ${name#n})).0/32 metric \1|" >"$work/$name.batch"
    at "$name" -batch "$work/$name.batch" >/dev/null &
    pid[batch_$name]=$!
  done
  for name in n1 n2 n3; do wait "${pid[batch_$name]}" || die "the batch through $name"; unset "pid[batch_$name]"; done
  same_state n1 n2 n3 || die "the states differ"
  [ "$(at n1 -j route list table all | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" = 6024 ] || die "not 6024 routes"
  wait_until 5 eval 'at n2 cluster status >"$work/status"' || { cat "$work/status"; die "the cluster is not healthy"; }
  [ "$(at n2 -j cluster members | python3 -c 'import json,sys; print(sum(m["live"] for m in json.load(sys.stdin)))')" = 3 ] || die "not three live members"

  # Started again, clean and after a kill -9, while the others go on.
  stop n2
  # Who stops says so; who is killed is missed when its lease is over.
  wait_until 3 only_live n1 n3 || die "a member that was stopped still counts as live: $(live_members n1)"
  at n1 route add 10.99.0.0/24 nhid 1
  stop n3 -KILL
  wait_until 15 only_live n1 || die "who is away still counts as live: $(live_members n1)"
  refused 3 at n1 cluster check
  said "n2 is away and was not compared"
  at n1 route add 10.99.1.0/24 nhid 1
  member n2
  member n3
  all_ready n2 n3
  same_state n1 n2 n3 || die "the states differ after restarts"
  at n3 route del 10.99.1.0/24
  at n2 cluster check >/dev/null || die "cluster check finds a difference"

  # A member that is removed ends with words, and does not put itself back.
  at n1 cluster remove n3 2>/dev/null
  wait_until 5 grep -q "member n3 was removed from the cluster" "$work/n3.log" || die "n3 does not say that it was removed"
  wait "${pid[n3]}" && die "n3 ended as if all were well"
  unset "pid[n3]"
  start_refused n3 "was removed" --data-dir "$work/n3" --log "$log" --cluster lab --advertise "127.0.0.1:${port[n3]}"
  [ "$(at n1 -j cluster members | python3 -c 'import json,sys; print(*[m["name"] for m in json.load(sys.stdin) if m["status"] == "ok"])')" = "n1 n2" ] ||
    die "n3 still counts as a member"
  curl -s "http://127.0.0.1:${port[h1]}/metrics" >"$work/said"
  for name in append_seconds append_batch_size lost_races_total unknown_outcomes_total log_tail_position applied_position log_first_position \
    log_trim_limit snapshot_sent_bytes_total digest_checks_total log_engine_problems; do said "^waypost_$name"; done
}

live_members() { at "$1" -j cluster members | python3 -c 'import json,sys; print(*[m["name"] for m in json.load(sys.stdin) if m["live"]])'; }
only_live() { [ "$(live_members n1)" = "$*" ]; }
# Everything that the live members hold leaves etcd, also its old revisions.
trim_all() {
  local end first
  end=$(at n1 -j node show | python3 -c 'import json,sys; n=json.load(sys.stdin); n=n[0] if isinstance(n,list) else n; print(n["tail"])')
  first=$(at n1 -j cluster trim | python3 -c 'import json,sys; n=json.load(sys.stdin); n=n[0] if isinstance(n,list) else n; print(n["first"])')
  [ "$first" = $((end + 1)) ] || return 1
  ctl compact "$(ctl endpoint status -w json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["Status"]["header"]["revision"])')" >/dev/null
}

part_snapshots() {
  three
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  seq 1 3000 | sed 's|.*|route add 10.0.0.0/24 nhid 1 metric &|' >"$work/before"
  at n1 -batch "$work/before" >/dev/null
  stop n2 -KILL
  kill -STOP "${pid[n3]}"
  seq 1 30000 | sed 's|.*|route add 10.1.0.0/24 nhid 1 metric &|' >"$work/while_away"
  at n1 -batch "$work/while_away" >/dev/null
  # A third copy, of a node that is new: what one member alone holds is never trimmed.
  member n4 --join
  all_ready n4
  # A file is the same stream.
  at n1 snapshot save "$work/saved" 2>/dev/null
  "$bin/waypost" snapshot verify "$work/saved" >"$work/said"
  said "good: revision"
  head -c 20000 "$work/saved" >"$work/torn"
  refused 2 "$bin/waypost" snapshot verify "$work/torn"
  said "ends before the snapshot does"
  "$bin/waypost" snapshot restore "$work/saved" --data-dir "$work/restored" >"$work/said"
  said "restored revision"
  wait_until 15 only_live n1 n4 || die "who is away still counts as live: $(live_members n1)"
  wait_until 5 trim_all || die "the log was not trimmed to its end"
  at n1 route add 10.2.0.0/24 nhid 1
  kill -CONT "${pid[n3]}"
  member n2
  wait_until 15 ready n2 || die "n2 did not come back"
  wait_until 15 ready n3 || die "n3 did not come back"
  same_state n1 n2 n3 n4 || die "the states differ behind snapshots"
  grep -q "fetching a snapshot" "$work/n2.log" || die "n2 took no snapshot"
  at n3 route add 10.3.0.0/24 nhid 1
  same_state n1 n2 n3 n4 || die "the states differ"
  at n2 cluster check >/dev/null || die "cluster check finds a difference"
}

part_faults() {
  # No etcd: said with the endpoint, and told to stop it stops.
  member n1 --bootstrap
  wait_until 5 grep -qs "waiting for etcd at.*$etcd_url" "$work/n1.log" || die "nothing says that etcd is not reached"
  [ "$(curl -s "http://127.0.0.1:${port[h1]}/livez")" = starting ] || die "/livez does not answer while n1 waits"
  ready n1 && die "n1 is ready without a cluster"
  grep -q "start: waiting for etcd at.*$etcd_url" "$work/ready" || die "/readyz does not say what n1 waits for: $(cat "$work/ready")"
  stop n1
  three
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  at n1 route add 10.0.0.0/24 nhid 1

  # A name, a directory, a cluster that belong to others.
  start_refused n1 "a member named n1 is alive at" --data-dir "$work/other" --log "$log" --cluster lab --join
  alone n4 --log "$log" --cluster other --bootstrap
  all_ready n4
  stop n4
  start_refused n4 "holds no log" --data-dir "$work/n4" --log "$log" --cluster third
  start_refused n4 "belongs to cluster" --data-dir "$work/n4" --log "$log" --cluster lab --join

  # etcd stands still: what needs it fails in time and says so; what does not goes on.
  kill -STOP "${pid[etcd]}"
  refused 5 at n2 --timeout 2s route show
  said "--stale answers revision"
  [ -n "$(at n2 --stale route show 10.0.0.0/24)" ] || die "--stale does not answer"
  refused 5 at n2 --timeout 2s route add 10.0.1.0/24 nhid 1
  said "nothing was changed"
  at n2 node list >"$work/said" 2>&1
  said "n3"
  wait_until 10 says "the log does not answer" at n2 cluster status || die "nothing says that the log does not answer"
  # Nobody takes for healthy what cannot be compared.
  refused 3 at n2 cluster check
  said "the log does not answer, so that what the members say is"
  at n2 node list >"$work/said" 2>&1
  said "the log does not answer; this is .* old"
  kill -CONT "${pid[etcd]}"
  all_ready n1 n2 n3
  at n2 route replace 10.0.1.0/24 nhid 1
  same_state n1 n2 n3 || die "the states differ"

  # A backup of etcd from before the last changes: nobody writes on a log that forgot what was acknowledged.
  ctl snapshot save "$work/backup" >/dev/null 2>&1
  at n3 route add 10.0.2.0/24 nhid 1
  same_state n1 n2 n3 || die "the states differ"
  etcd_from "$work/backup"
  wait_until 15 says "rewound or replaced" at n1 cluster status || { cat "$work/said"; die "the rewound log is not recognised"; }
  refused 2 at n2 --timeout 2s route add 10.0.3.0/24 nhid 1
  said "start the log anew"
  [ -n "$(at n2 --stale route show 10.0.2.0/24)" ] || die "--stale does not answer"

  # The cure: the newest member's state begins a log of another name, and the others join it with empty directories.
  at n3 snapshot save "$work/newest" 2>/dev/null
  for name in n1 n2 n3; do stop $name; rm -rf "${work:?}/$name"; done
  "$bin/waypost" snapshot restore "$work/newest" --data-dir "$work/n1" >/dev/null
  alone n1
  all_ready n1
  at n1 cluster grow --log "$log" --cluster anew 2>/dev/null
  stop n1
  alone n1 --log "$log" --cluster anew
  alone n2 --log "$log" --cluster anew --join
  all_ready n1 n2
  [ -n "$(at n2 route show 10.0.2.0/24)" ] || die "what was acknowledged before the restore is gone"
  at n2 route add 10.0.3.0/24 nhid 1
  same_state n1 n2 || die "the states differ"
}

part_full() {
  etcd_up --quota-backend-bytes $((16 << 20))
  member n1 --bootstrap
  member n2 --join
  all_ready n1 n2
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  local code=0 round
  for round in $(seq 40); do
    seq 1 20000 | sed "s|.*|route replace 10.$round.0.0/24 nhid 1 metric &|" >"$work/batch"
    at n1 --timeout 5s -batch "$work/batch" >"$work/said" 2>&1 || { code=$?; break; }
  done
  [ $code != 0 ] || die "etcd was never full"
  said "is full: trim the log"
  [ -n "$(at n2 --stale nexthop show)" ] || die "--stale does not answer"
  # What the words advise heals it.
  at n1 cluster status >"$work/said" 2>&1 || true
  said "etcdctl compact REV"
  at n1 cluster trim 2>/dev/null
  ctl compact "$(ctl endpoint status -w json | python3 -c 'import json,sys; print(json.load(sys.stdin)[0]["Status"]["header"]["revision"])')" >/dev/null
  ctl defrag >/dev/null
  ctl alarm disarm >/dev/null
  wait_until 10 at n1 --timeout 2s route add 10.200.0.0/24 nhid 1 || die "still full"
  all_ready n1 n2
  same_state n1 n2 || die "the states differ"
}

etcd_from() { # BACKUP: etcd forgets what came behind it
  stop etcd
  rm -rf "$work/etcd"
  ctl snapshot restore "$1" --name s1 --data-dir "$work/etcd" --initial-cluster "s1=http://127.0.0.1:${ports[1]}" \
    --initial-advertise-peer-urls "http://127.0.0.1:${ports[1]}" >/dev/null 2>&1
  etcd_up
}

part_parting() {
  three
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  for i in $(seq 20); do at n1 route add "10.0.$i.0/24" nhid 1; done
  same_state n1 n2 n3 || die "the states differ"
  ctl snapshot save "$work/backup" >/dev/null 2>&1
  stop n2
  stop n3
  at n1 route add 10.8.0.0/24 nhid 1
  stop n1
  etcd_from "$work/backup"
  # Nobody remembers how far this etcd was, so nothing but the states tells n1 and the others apart.
  rm "$work"/n?/engine_revision
  member n2
  member n3
  all_ready n2 n3
  at n2 route add 10.9.0.0/24 nhid 1
  at n2 route add 10.9.1.0/24 nhid 1
  member n1
  wait_until 10 says "table route differs from member n1 since revision 22" at n2 cluster status || { cat "$work/said"; die "n2 does not name the difference"; }
  wait_until 10 says "table route differs from member n1 since revision 22" at n3 cluster status || { cat "$work/said"; die "n3 does not name the difference"; }
  refused 2 at n1 --timeout 2s route add 10.9.2.0/24 nhid 1
  said "rewound or replaced"
  [ -n "$(at n2 --stale route show 10.9.1.0/24)" ] || die "n2 does not answer"
}

part_grow() {
  etcd_up
  alone n1 --bootstrap
  all_ready n1
  at n1 nexthop add id 1 via 192.0.2.1 dev eth0
  at n1 route add 10.0.0.0/24 nhid 1
  local before
  before=$(state n1)
  at n1 cluster grow --log "$log" --cluster lab
  at n1 cluster grow --log "$log" --cluster lab
  refused 2 at n1 route add 10.0.1.0/24 nhid 1
  said "start the node with"
  stop n1
  member n1
  all_ready n1
  [ "$(state n1)" = "$before" ] || die "growing changed the state: $before, $(state n1)"
  member n2 --join
  all_ready n2
  at n2 route add 10.0.1.0/24 nhid 1
  same_state n1 n2 || die "the states differ"
  [ -n "$(at n2 route show 10.0.0.0/24)" ] || die "n2 lacks what was there before"
}

"part_$part"
echo "$part: good, $SECONDS s"
