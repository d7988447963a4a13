# Packets from the etcd servers to one member are lost, the other direction works: its appends can happen without an answer.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 30
for server in s1 s2 s3; do cut_one_way "$server" n2; done
sleep 6
progress_needed 10
heal_all
wait_until 30 member_ready n2 || die "n2 did not recover"
progress_needed 20
