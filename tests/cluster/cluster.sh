#!/usr/bin/env bash
# usage: ./dev cluster                      three etcd servers and three members in namespaces, until Ctrl-C
#        ./dev cluster SCENARIO...          runs tests/cluster/scenarios/SCENARIO.sh on a fresh cluster each; `all` for all
#        ./dev cluster --containers         builds the images and runs docker/smoke.sh through podman; with SCENARIO... or
#                                           all those scenarios on containers
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "${1:-}" = --containers ]; then
  shift
  exec "$here/containers.sh" "$@"
fi
# One process (and so one private set of namespaces) a scenario: nothing of one can leak into the next.
if [ $# -gt 1 ] || [ "${1:-}" = all ]; then
  names=$*
  [ "$1" != all ] || names=$(cd "$here/scenarios" && ls -- *.sh | sed 's/\.sh$//')
  # They hardly touch each other, so JOBS (default 3) run at a time; a red one is shown whole.
  export CLUSTER_SH=$0 CLUSTER_LOGS
  CLUSTER_LOGS=$(mktemp -d)
  trap 'rm -rf "$CLUSTER_LOGS"' EXIT
  # shellcheck disable=SC2016
  printf '%s\n' $names | xargs -P "${JOBS:-3}" -I{} bash -c '
    start=$SECONDS
    if timeout -k 10 180 "$CLUSTER_SH" {} >"$CLUSTER_LOGS/{}" 2>&1; then word=passed; else word=FAILED; fi
    [ $word = passed ] || cat "$CLUSTER_LOGS/{}"
    printf "scenario %-24s %s in %3d s: %s\n" {} $word $((SECONDS - start)) "$(tail -n 1 "$CLUSTER_LOGS/{}")"' |
    tee "$CLUSTER_LOGS/all"
  passed=$(grep -c '^scenario .* passed in' "$CLUSTER_LOGS/all" || true)
  wanted=$(echo $names | wc -w)
  printf '%d passed, %d failed, in %d s\n' "$passed" $((wanted - passed)) "$SECONDS"
  [ "$passed" = "$wanted" ]
  exit
fi
# shellcheck source=../lab/lab.sh
. "$here/../lab/lab.sh"
# BACKEND: namespaces (default), or containers where containers.sh has built the images.
# shellcheck source=backend_namespaces.sh
. "$here/backend_${BACKEND:-namespaces}.sh"
# shellcheck source=checks.sh
. "$here/checks.sh"

cluster_up() {
  network_up
  local host
  for host in $ETCD n1 n2 n3; do host_up "$host"; done
  for host in $ETCD; do etcd_start "$host"; done
  wait_until 20 etcd_healthy || die "etcd has no leader"
  ${BEFORE_MEMBERS:-true}
  for host in n1 n2 n3; do member_start "$host"; done
  for host in n1 n2 n3; do wait_until 30 member_ready "$host" || { tail -n 20 "$LAB_DIR/$host.log"; die "$host did not become ready"; }; done
}
cluster_down() {
  writers_stop
  backend_down
}

if [ $# = 1 ]; then
  name=$1
  scenario=$here/scenarios/$name.sh
  [ -f "$scenario" ] || die "no scenario '$name'; there are: $(cd "$here/scenarios" && ls | sed 's/\.sh$//' | tr '\n' ' ')"
  trap 'rc=$?; cluster_down; exit $rc' EXIT
  # shellcheck source=/dev/null
  . "$scenario"
  check_all
  cluster_down
  trap - EXIT
  check_nothing_left
else
  trap cluster_down EXIT
  start=$(now_ms)
  cluster_up
  cat <<T
three etcd servers (s1 s2 s3) and three members (n1 n2 n3) are up after $(($(now_ms) - start)) ms, in private namespaces.

  waypost cluster status                 WAYPOST_ENDPOINTS is set to all three members
  on n2 ip route                         a command on a host
  process_kill n3; member_start n3       isolate n1; rejoin n1; link_down n2; link_up n2; host_reboot n3
  etcd_start s1; process_pause s2        logs are in \$LAB_DIR

This is a shell of the host of the bridge; leave it (exit or Ctrl-D) and everything is gone.
T
  export WAYPOST_ENDPOINTS=10.9.0.21:7601,10.9.0.22:7601,10.9.0.23:7601
  if [ -t 0 ]; then
    set +e +u
    while IFS= read -r -e -p 'cluster> ' line; do history -s "$line"; eval "$line"; done
    set -eu
  else
    sleep infinity & wait $!
  fi
fi
