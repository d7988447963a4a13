# A fourth member joins a running cluster, takes writes, and is removed again.
cluster_up
setup_nexthops
writers_start 2 n1 n2
progress_needed 30
host_up n4
member_start n4
wait_until 60 member_ready n4 || { tail -n 20 "$LAB_DIR/n4.log"; die "n4 did not join"; }
wp n4 route add 10.99.0.4/32 nhid 1
wp n1 route list 10.99.0.4/32 | grep -q 10.99.0.4 || die "the write through n4 is not there"
wp n4 route del 10.99.0.4/32
wp n1 cluster members
process_stop n4
wp n1 cluster remove n4
# What it last said of itself is there until its lease ends.
gone() { ! wp n1 -j cluster members | grep -q '"n4"'; }
wait_until 20 gone || die "n4 is still a member"
host_down n4
progress_needed 10
