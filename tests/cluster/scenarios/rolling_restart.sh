# Every member is stopped and started in turn under load: no client of another member sees an error, no kernel is touched.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 20
for host in n1 n2 n3; do
  process_stop "$host"
  progress_needed 10
  member_start "$host"
  wait_until 30 member_ready "$host" || die "$host did not come back"
done
for server in s1 s2 s3; do
  process_stop "$server"
  progress_needed 5
  etcd_start "$server"
  wait_until 20 etcd_healthy || die "etcd did not heal"
done
