# One member's disk fills up: it says so and refuses, the others go on; with room it heals, with or without a restart.
BEFORE_MEMBERS="disk_limit n2 700"
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 20
disk_fill n2
sleep 3
writers_stop
writers_start 2 n1 n3
progress_needed 20
disk_free n2
sleep 1
kill -0 "${PID[n2]}" 2>/dev/null || member_start n2
wait_until 30 member_ready n2 || die "n2 did not heal"
