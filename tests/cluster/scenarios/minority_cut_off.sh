# One member is cut off from everything: it refuses writes in words within its deadline, serves stale reads, and catches up later.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 30
isolate n3
progress_needed 20
rc=0
words=$(on n3 env WAYPOST_ENDPOINTS="$(host_address n3):7601" waypost --timeout 3s route add 10.99.0.3/32 nhid 1 2>&1) || rc=$?
[ "$rc" = 5 ] || [ "$rc" = 6 ] || die "a write on the cut-off member ended with $rc: $words"
echo "cut-off write said: $words (exit $rc)"
on n3 env WAYPOST_ENDPOINTS="$(host_address n3):7601" waypost --stale route list >/dev/null || die "--stale does not answer on the cut-off member"
rejoin n3
wait_until 30 member_ready n3 || die "n3 did not catch up"
wp n3 --timeout 5s route del 10.99.0.3/32 >/dev/null 2>&1 || true
progress_needed 20
