# The etcd server that leads is killed under load and comes back: writes go on, nothing acknowledged is lost.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 30
leader=$(etcd_leader)
process_kill "$leader"
progress_needed 30
etcd_start "$leader"
progress_needed 10
