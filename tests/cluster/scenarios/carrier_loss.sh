# A member's only link loses carrier: its kernel drops every route of ours without a word. With the link they come back.
cluster_up
setup_nexthops
writers_start 2 n1 n3
progress_needed 30
link_down n2
sleep 2
progress_needed 20
link_up n2
writers_stop
wp n2 fib wait --timeout 30s || die "n2 is not in sync after its link came back"
