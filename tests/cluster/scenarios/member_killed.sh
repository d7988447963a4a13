# A member is killed under load and starts again from its own disk; clients of the others notice nothing.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 30
process_kill n2
progress_needed 30
member_start n2
wait_until 30 member_ready n2 || die "n2 did not come back"
progress_needed 20
