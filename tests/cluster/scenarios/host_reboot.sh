# A member's host reboots: its FIB is empty and the cluster unreachable at first; its own disk restores the FIB.
cluster_up
setup_nexthops
writers_start 2 n1 n3
progress_needed 30
writers_stop
wp n2 fib wait --timeout 30s
before=$(kernel_routes_of n2 | wc -l)
host_reboot n2
isolate n2
member_start n2
enough() { [ "$(kernel_routes_of n2 | wc -l)" -ge "$before" ]; }
wait_until 20 enough || die "without the cluster n2 restored $(kernel_routes_of n2 | wc -l) of $before routes"
rejoin n2
writers_start 2 n1 n3
progress_needed 10
