# A member stops for 8 seconds with requests under way and wakes up: it serves no stale read and applies nothing twice.
cluster_up
setup_nexthops
writers_start 3 n1 n2 n3
progress_needed 30
process_pause n3
wp n1 route add 10.99.0.1/32 nhid 1
sleep 8
process_resume n3
# The first read it answers after waking must know the write that was acknowledged while it slept.
wait_until 20 eval 'answer=$(wp n3 --timeout 5s route list 10.99.0.1/32 2>/dev/null)' || die "n3 does not answer after waking"
case $answer in *10.99.0.1*) ;; *) die "n3 served a stale read after waking: '$answer'" ;; esac
wp n1 route del 10.99.0.1/32
progress_needed 20
