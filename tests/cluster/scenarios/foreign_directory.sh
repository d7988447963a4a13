# A data directory that belongs elsewhere: its routes reach no kernel, whether the cluster answers or not, and what is there stays.
cluster_up
setup_nexthops
writers_start 2 n1 n2 n3
progress_needed 20
writers_stop
wp n3 fib wait --timeout 30s
before=$(kernel_routes_of n3 | wc -l)
process_stop n3
mv "$LAB_DIR/n3" "$LAB_DIR/n3.own"
# A node of its own once, with a route that nobody else has.
mkdir "$LAB_DIR/n3"
become n3 waypostd --name n3 --data-dir "$LAB_DIR/n3" --listen 10.9.0.23:7601 --bootstrap >>"$LAB_DIR/n3.log" 2>&1 &
PID[n3]=$!
wait_until 10 member_ready n3 || die "n3 alone does not answer"
wp n3 nexthop add id 7 via 10.9.0.254 dev eth0
wp n3 route add 10.250.0.0/16 nhid 7
process_stop n3
untouched() { [ "$(kernel_routes_of n3 | wc -l)" = "$before" ] && [ -z "$(on n3 ip route show 10.250.0.0/16)" ]; }
ended() { ! kill -0 "${PID[n3]}" 2>/dev/null; }

isolate n3
member_start n3
for _ in $(seq 25); do
  untouched || die "without the cluster a foreign directory reaches n3's kernel"
  sleep 0.2
done
rejoin n3
wait_until 20 ended || die "n3 goes on with a directory of another cluster"
grep -q "belongs to cluster" "$LAB_DIR/n3.log" || die "n3 does not say why it ended: $(tail -n 3 "$LAB_DIR/n3.log")"
untouched || die "a foreign directory reached n3's kernel"

rm -rf "$LAB_DIR/n3"
mv "$LAB_DIR/n3.own" "$LAB_DIR/n3"
member_start n3
wait_until 20 member_ready n3 || die "n3 did not come back with its own directory"
writers_start 2 n1 n2 n3
progress_needed 10
