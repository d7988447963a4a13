#!/bin/bash
# More objects in the namespace that ../setup.sh makes, and what `ip` prints of all of them, in every form that the
# command line offers. Usage: ./setup.sh DIRECTORY (as root; the namespace is removed at the end)
set -u
OUT=$(realpath "${1:-.}")
cd "$(dirname "$0")" || exit 1
NS=wpmore0
sed "s/^NS=.*/NS=$NS/" ../setup.sh | bash >/dev/null 2>&1
ip -n $NS -force -batch - >/dev/null <<'EOF'
nexthop add id 201 encap ip id 42 src 172.16.1.1 dst 172.16.1.9 ttl 64 tos 0x10 key csum seq via 172.16.1.2 dev veth1
nexthop add id 202 encap ip6 id 7 src 2001:db8::1 dst 2001:db8::2 hoplimit 5 tc 3 key via 172.16.1.2 dev veth1
nexthop add id 210 group 1
nexthop add id 211 group 7
nexthop add id 212 group 5
nexthop add id 213 group 6/201
route add 10.2.0.0/24 nhid 210
route add 10.2.1.0/24 nhid 211
route add 10.2.2.0/24 nhid 108
route add 10.2.3.0/24 nhid 213
route add 10.2.4.0/24 nhid 201
route add 10.2.5.0/24 nhid 202
route add blackhole 10.2.6.0/24 nhid 1
route add unreachable 10.2.7.0/24 nhid 4
route add blackhole 10.2.8.0/24 nhid 101
route add 10.2.9.0/24 mtu lock 1400 window 10000 rtt 1500ms rttvar 20ms ssthresh 5 cwnd lock 9 reordering 4 hoplimit 12 initcwnd 3 features ecn rto_min 200ms initrwnd 7 fastopen_no_cookie 1 via 172.16.1.2
route add 10.2.10.0/24 nexthop via 10.99.99.1 dev veth1 onlink weight 10 nexthop encap ip id 42 dst 172.16.1.9 via 172.16.2.2 dev veth2 nexthop via inet6 fe80::9 dev veth3
route add 10.2.11.1/32 via 172.16.1.2
route add 10.2.12.0/24 dev veth1
route add 10.2.13.0/24 dev veth1 proto static src 172.16.1.1 metric 5 table 77 tos 0x04
route add 10.2.14.0/24 tos 0x28 nhid 201 table 33
route add 10.2.15.0/24 tos 0x10 nhid 1 table 33
EOF
ip -6 -n $NS -force -batch - >/dev/null <<'EOF'
nexthop add id 203 encap seg6 mode inline segs 2001:db8:a::1 via 2001:db8:91::2 dev veth1
nexthop add id 204 encap seg6 mode l2encap segs 2001:db8:a::1 hmac 77 via 2001:db8:91::2 dev veth1
nexthop add id 205 encap seg6 mode encap.red segs 2001:db8:a::1 via 2001:db8:91::2 dev veth1
nexthop add id 206 encap seg6 mode l2encap.red segs 2001:db8:a::1 via 2001:db8:91::2 dev veth1
route add 2001:db8:201::/64 nhid 211
route add 2001:db8:202::/64 nhid 212
route add 2001:db8:203::/64 nhid 203
route add blackhole 2001:db8:204::/64 nhid 7
route add 2001:db8:205::/64 nexthop via fe80::1 dev veth1 onlink nexthop encap seg6 mode encap segs 2001:db8:a::1 via 2001:db8:92::2
route add 2001:db8:206::1 via 2001:db8:91::2 pref low metric 7
route add throw 2001:db8:207::/64
route add 2001:db8:208::/64 via 2001:db8:91::2 src 2001:db8:91::1 proto static
route add default via 2001:db8:91::2 mtu lock 1300 hoplimit 9
route add 2001:db8:209::/64 dev veth1
route add unreachable 2001:db8:20a::/64 table 500 proto bird
route add unreachable 2001:db8:20b::/64 nhid 5 table 33
EOF
show() { # FILE OPTIONS...: nexthops, then IPv4 routes, then IPv6 routes of all tables
  local file=$1; shift
  { ip -n $NS "$@" nexthop show; ip -4 -n $NS "$@" route show table all; ip -6 -n $NS "$@" route show table all; } >"$OUT/$file"
}
show text.txt
show details.txt -d
show oneline.txt -o
show colour.txt -c=always
show json.txt -j
show json_details.txt -d -j
show json_pretty.txt -j -p
ip netns del $NS
