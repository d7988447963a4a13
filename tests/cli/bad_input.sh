#!/usr/bin/env bash
# What a user, a disk or a stranger's program can get wrong, one thing after the other against a real waypostd: each gets a clear
# error, nothing that was good is lost, nothing bad is half applied, and the daemon that was there goes on.
# usage: bad_input.sh BIN_DIR   (the disks need root: they are tmpfs in a mount namespace of this script's own)
set -euo pipefail
bin=$(realpath "$1")
if [ "$(id -u)" = 0 ] && [ "${2:-}" != inside ]; then exec unshare --net --mount --propagation private "$(realpath "$0")" "$bin" inside; fi
[ "${2:-}" != inside ] || ip link set lo up

work=$(mktemp -d)
daemon=
cleanup() {
  [ -z "$daemon" ] || kill -9 "$daemon" 2>/dev/null || true
  wait || true
  umount "$work/disk" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT
cd "$work"
export WAYPOST_ENDPOINTS=127.0.0.1:17621
die() {
  echo "FAILED: $*"
  [ ! -f out ] || sed -n 1,20p out
  exit 1
}
w() { timeout 20 "$bin/waypost" "$@"; }
# expect CODE WORDS COMMAND...: ends with CODE, and says the words (an extended regular expression).
expect() {
  local code=$1 words=$2 rc=0
  shift 2
  "$@" >out 2>&1 || rc=$?
  [ "$rc" = "$code" ] || die "exit code $rc instead of $code: $*"
  grep -qE -- "$words" out || die "does not say '$words': $*"
}
launch() { # DATA_DIR [ARGS]: starts it in the background
  "$bin/waypostd" --name n1 --data-dir "$1" --listen 127.0.0.1:17621 --http 127.0.0.1:17622 --bootstrap "${@:2}" >log 2>&1 &
  daemon=$!
}
start() {
  launch "$@"
  for _ in $(seq 100); do
    if w nexthop list >/dev/null 2>&1; then return; fi
    kill -0 "$daemon" 2>/dev/null || die "waypostd did not start: $(cat log)"
    sleep 0.05
  done
  die "waypostd does not answer"
}
stop() {
  kill "$daemon"
  wait "$daemon" || die "waypostd ended with $?: $(tail -4 log)"
  daemon=
}
alive() { # WHAT: the same process, still answering
  kill -0 "$daemon" 2>/dev/null || die "$1: waypostd is gone: $(tail -3 log)"
  [ "$(w nexthop list | wc -l)" = 2 ] || die "$1: the store is not what it was"
}
# Sends standard input to a port and waits until the peer closes, or a second is over. Its answer goes to the file `answer`.
talk() { timeout 1 bash -c "exec 3<>/dev/tcp/127.0.0.1/$1; cat >&3; cat <&3" >answer 2>/dev/null; }

lines_of_a_batch() {
  printf '%s\n' 'route add 10.1.0.0/16 nhid 1' 'route add 10.2.0.0/16 \' '  nhid 77' 'route add 10.3.0.0/16 nhid 1' >b
  expect 2 '^error: b:2:11: route 10\.2\.0\.0/16.*nexthop 77 does not exist' w -batch b
  grep -q 'hint: ' out || die "no cure: a refused line"
  [ "$(w route list | wc -l)" = 1 ] || die "what stands before a refused line is lost, or what is behind it applied"
  expect 7 'b:2:11: ' w -batch b -force
  w route list | grep -q '10.3.0.0/16' || die "-force did not go on"
  printf '%s\n' 'route add 10.4.0.0/16 nhid 1' 'route add 10.5.0.0/33 nhid 1' 'rotue add 10.6.0.0/16 nhid 1' >b
  expect 1 'b:2:11: .*10\.5\.0\.0/33' w -batch b --atomic
  if w route list | grep -q '10\.4\.'; then die "an atomic batch was half applied"; fi
  head -c 100000 /dev/urandom >b
  expect 1 'b:[0-9]+:[0-9]+: ' w -batch b
}

saved_streams() {
  w route save >s
  local whole size=$(stat -c %s s)
  whole=$(w route list | wc -l)
  for bytes in 0 3 5 $((size - 1)) $((size / 2 + 1)); do
    head -c "$bytes" s >cut
    expect 2 'byte|empty|not .* saved|ip route save' w route restore <cut
  done
  for at in 0 5 8 21 30; do
    { head -c "$at" s; printf '\377\377\377'; tail -c +$((at + 4)) s; } >damaged
    expect 2 '(byte|record|ip route save)' w route restore <damaged
  done
  head -c 100000 /dev/urandom >b
  expect 2 'ip route save' w route restore <b
  [ "$(w route list | wc -l)" = "$whole" ] || die "a damaged stream was half restored"
}

frames() {
  printf 'WPR1\000\000\000\144short' | talk 17621 || true
  alive "a frame that promises more bytes than come"
  printf 'WPR1\000\000\000\001abcdefgh' | talk 17621 || true
  alive "a frame that promises fewer bytes than come"
  local before after
  before=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
  { printf 'WPR1\200\000\000\000'; head -c 20000000 /dev/zero; } | talk 17621 || true
  alive "a frame of 2 GiB"
  after=$(awk '/VmRSS/ { print $2 }' "/proc/$daemon/status")
  [ $((after - before)) -lt 16384 ] || die "a frame of 2 GiB takes $((after - before)) KiB of memory"
  for port in 17621 17622; do
    for _ in 1 2 3; do head -c 200000 /dev/urandom | talk $port || true; done
    alive "random bytes on port $port"
  done
  printf 'GET /%0100000d HTTP/1.1\r\n\r\n' 7 | talk 17622 || true
  alive "an HTTP request without an end"
  printf 'GET /livez HTTP/1.0\r\n\r\n' | talk 17622 || true
  grep -q '200 OK' answer || die "/livez does not answer any more"
}

settings() {
  printf 'name = "n1"\ndata-dirr = "x"\n' >c.toml
  expect 1 'c\.toml:2:1: .*data-dirr' "$bin/waypostd" --config c.toml --check-config
  grep -qi 'did you mean\|hint' out || die "no cure: an unknown key"
  printf 'name = "n1\n' >c.toml
  expect 1 'c\.toml:1:' "$bin/waypostd" --config c.toml --check-config
  expect 2 'c2\.toml.*(cannot|No such)' "$bin/waypostd" --config c2.toml --check-config
}

# A store that cannot write ends the process with its reason, and starts again once there is space.
full_disk() {
  mkdir -p disk
  mount -t tmpfs -o size=48m tmpfs disk
  start "$work/disk/data"
  printf '%s\n' 'nexthop add id 1 blackhole' 'nexthop add id 2 blackhole' | w -batch -
  head -c 64M /dev/zero >disk/filler 2>/dev/null || true
  seq 200000 | awk '{ printf "route add 10.%d.%d.%d nhid 1\n", $1 / 65536, $1 / 256 % 256, $1 % 256 }' >b
  local rc=0 applied
  w --timeout 4s -batch b >out 2>&1 || rc=$?
  applied=$(sed -n 's/^applied \([0-9,]*\) lines.*/\1/p' out | tr -d ,)
  [ "${applied:-0}" -lt 200000 ] || die "200,000 routes went onto a full disk"
  if kill -0 "$daemon" 2>/dev/null; then
    # Seen before it was full: writes are refused, with the reason.
    [ "$rc" = 2 ] && grep -qi 'space' out || die "exit code $rc of a batch that is refused for want of space"
    alive "a full disk"
    stop
  else
    # Full in the middle of a write: the process ends rather than acknowledge what is not stored.
    [ "$rc" = 6 ] && grep -q 'no node said what became of it' out || die "exit code $rc of a batch whose node ended"
    grep -q 'trying again for . s more' out || die "four seconds of silence"
    rc=0
    wait "$daemon" || rc=$?
    daemon=
    [ "$rc" = 74 ] || die "waypostd ended with $rc: $(tail -3 log)"
    grep -q 'No space left on device: While appending to file: .*ending, so that nothing is acknowledged' log ||
      die "waypostd does not say why it ended: $(tail -3 log)"
  fi
  rc=0
  launch "$work/disk/data"
  sleep 1
  if kill -0 "$daemon" 2>/dev/null; then
    stop
  else
    wait "$daemon" || rc=$?
    [ "$rc" -lt 128 ] || die "waypostd on a full disk was ended by signal $((rc - 128))"
    grep -qiE 'space' log || die "waypostd on a full disk does not say why it ended: $(cat log)"
  fi
  daemon=
  rm disk/filler
  mount -o remount,size=256m disk
  start "$work/disk/data"
  alive "space again"
  [ "$(w route list table all | wc -l)" -ge "${applied:-0}" ] || die "of $applied acknowledged routes $(w route list table all | wc -l) are there"
  stop

  mount -o remount,ro disk
  expect 2 '[Rr]ead-only|not writable|cannot be written' timeout 10 "$bin/waypostd" --name n1 --data-dir "$work/disk/data" \
    --listen 127.0.0.1:17621 --bootstrap
  grep -q '^hint: mount it for writing' out || die "no cure: a read-only data directory"
  umount disk
}

start "$work/data"
printf '%s\n' 'nexthop add id 1 blackhole' 'nexthop add id 2 blackhole' | w -batch -
for part in lines_of_a_batch saved_streams frames settings; do
  "$part"
  echo "$part: ok"
done
stop
if [ "${2:-}" = inside ]; then
  full_disk
  echo "full_disk: ok"
fi
