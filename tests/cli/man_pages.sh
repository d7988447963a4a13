#!/usr/bin/env bash
# The man pages: they are made and checked, name every option of both programs and no other, and each example runs as it stands, on a
# host of its own with eth0 and eth1 and a waypostd with kernel_sync (for the cluster's page two members on an etcd).
# usage: man_pages.sh      (root)
# shellcheck source=../lab/lab.sh
. "$(dirname "$0")/../lab/lab.sh"
pages=$LAB_SOURCE/cli/man

checked() {
  local page made
  for page in "$pages"/*.scd; do
    made=$LAB_DIR/$(basename "$page" .scd)
    scdoc <"$page" >"$made" || die "scdoc: $page"
    # scdoc writes paragraphs that mandoc finds superfluous.
    ! mandoc -Tlint -W warning "$made" | grep -v 'skipping paragraph macro: PP' || die "mandoc: $page"
    [ "$(grep -m 2 '^# ' "$page" | tail -n 1)" = "# EXAMPLES" ] || die "$page does not begin with examples"
  done
}

# options_of_page FILE, options_of_help COMMAND...: long options and -x ones, one a line.
words_of() { grep -oE -- '(^|[^a-zA-Z0-9_*-])\*?--?[a-zA-Z][a-zA-Z-]*' | grep -oE -- '-.*' | sed 's/^--*//' | sort -u; }
complete() {
  waypost help | words_of >"$LAB_DIR/help.words"
  sed -n '/^# OPTIONS/,/^# EXIT/p' "$pages/waypost.8.scd" | words_of >"$LAB_DIR/page.words"
  missing=$(comm -23 "$LAB_DIR/help.words" "$LAB_DIR/page.words" | grep -vxE 'force|atomic|skip-other|batch' || true)
  [ -z "$missing" ] || die "waypost(8) does not tell of: $missing"
  waypostd --help | grep -oE -- '--[a-z-]+' | sed 's/^--//' | sort -u >"$LAB_DIR/help.words"
  sed -n '/^# OPTIONS/,/^# SIGNALS/p' "$pages/waypostd.8.scd" | grep -oE -- '\*--[a-z-]+' | sed 's/^\*--//' | sort -u >"$LAB_DIR/page.words"
  cmp -s "$LAB_DIR/help.words" "$LAB_DIR/page.words" || die "waypostd(8) and waypostd --help differ: $(comm -3 "$LAB_DIR/help.words" "$LAB_DIR/page.words")"
  # Every option that a page names is one.
  local option
  for option in $(sed -n '/^# OPTIONS/,/^# EXIT/p' "$pages/waypost.8.scd" | grep -E '^\*-' | grep -oE -- '\*--?[a-zA-Z-]+' | tr -d '*'); do
    # Known options are refused for their value or place, never as unknown.
    ! waypost route list "$option" 2>&1 </dev/null | grep -q 'is unknown' || die "waypost(8) tells of $option, which is none"
  done
}

host() {
  local i
  for i in 0 1; do
    ip link add eth$i type veth peer name peer$i
    ip link set eth$i up
    ip link set peer$i up
    ip addr add 10.0.$i.2/24 dev eth$i
  done
  sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0
  ip addr add 2001:db8::2/64 dev eth0 nodad
}
# member NAME PORT ARGS...
member() {
  waypostd --name "$1" --data-dir "$LAB_DIR/$1" --listen "127.0.0.1:$2" "${@:3}" >>"$LAB_DIR/waypostd.log" 2>&1 &
  until waypost --endpoints "127.0.0.1:$2" nexthop list >/dev/null 2>&1; do
    kill -0 $! 2>/dev/null || die "waypostd ended: $(tail -n 3 "$LAB_DIR/waypostd.log")"
    sleep 0.1
  done
}
etcd_start() {
  etcd --data-dir "$LAB_DIR/etcd" --log-level error >"$LAB_DIR/etcd.log" 2>&1 &
  until ETCDCTL_API=3 etcdctl endpoint health >/dev/null 2>&1; do sleep 0.1; done
}
# examples PAGE: its code, run as one script in a fresh folder.
examples() {
  awk '/^```/{ code = !code; next } !code && /^# /{ on = ($2 == "EXAMPLES") } on && code' "$pages/$1.scd" >"$LAB_DIR/examples.sh"
  [ -s "$LAB_DIR/examples.sh" ] || die "$1 has no examples"
  mkdir "$LAB_DIR/work"
  (cd "$LAB_DIR/work" && timeout 60 bash -emE "$LAB_DIR/examples.sh") >"$LAB_DIR/examples.out" 2>&1 ||
    { tail -n 20 "$LAB_DIR/examples.out" >&2; die "an example of $1 ends with an error"; }
  echo "$1: $(grep -c . "$LAB_DIR/examples.sh") lines of examples ran"
}
# Each page in a network and process namespace of its own.
if [ "${1:-}" = page ]; then
  ip link set lo up
  host
  case $2 in
    waypostd.8)
      mount -t tmpfs tmpfs /var/lib
      etcd_start
      ;;
    waypost-cluster.8)
      etcd_start
      member n1 7601 --log etcd://127.0.0.1:2379 --cluster lab --bootstrap
      member n2 7611 --log etcd://127.0.0.1:2379 --cluster lab --join
      until waypost cluster status >/dev/null; do sleep 0.1; done  # both have heard of each other
      ;;
    *) member n1 7601 --bootstrap --kernel-sync ;;
  esac
  examples "$2"
  exit
fi

checked
complete
for page in "$pages"/*.scd; do
  env -u LAB_INSIDE "$0" page "$(basename "$page" .scd)"
done
