#!/usr/bin/env bash
# Everything CI runs, in the order in which a failure is cheapest to find. Ends at the first red part.
# Closes with one line: "N passed, M failed, K skipped".
set -euo pipefail
cd "$(dirname "$0")/.."
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -E "$@"; fi; }
say() { printf '\n== %s  (%s s)\n' "$*" "$SECONDS"; }
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

passed=0
failed=0
skipped=0
# run NAME BUILD_DIR CTEST_ARGS...: counts what ctest counted; the first red one ends the run.
run() {
  local name=$1 dir=$2
  shift 2
  say "$name"
  local rc=0
  as_root ctest --test-dir "$dir" --output-on-failure --no-tests=error "$@" 2>&1 | tee "$logs/$name" || rc=$?
  local total bad skip
  total=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of \([0-9]*\)/\2/p' "$logs/$name" | tail -1)
  bad=$(sed -n 's/.*tests passed, \([0-9]*\) tests failed out of .*/\1/p' "$logs/$name" | tail -1)
  skip=$(grep -c '\*\*\*Skipped\|\[  SKIPPED \]' "$logs/$name" || true)
  passed=$((passed + ${total:-0} - ${bad:-0}))
  failed=$((failed + ${bad:-0}))
  skipped=$((skipped + skip))
  [ "$rc" = 0 ] || finish
}
finish() {
  printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" = 0 ] && [ "$skipped" = 0 ] && exit 0
  exit 1
}

say "release build"
cmake --preset release >/dev/null
cmake --build --preset release
run tidy build -R '^tidy'
run release build -E '^tidy'

say "clusters in namespaces: every scenario"
as_root tests/cluster/cluster.sh all | tee "$logs/cluster" || failed=1
passed=$((passed + $(grep -c '^scenario .* passed in' "$logs/cluster" || true)))
[ "$failed" = 0 ] || finish

say "containers: the commands of docker/README.md"
as_root tests/cluster/containers.sh --prebuilt >"$logs/containers" 2>&1 || { tail -n 60 "$logs/containers"; failed=$((failed + 1)); finish; }
passed=$((passed + 1))

say "ASan and UBSan build: unit tests and the simulation"
cmake --preset asan >/dev/null
cmake --build --preset asan --target asan_tests
run asan build-asan -L asan

say "TSan build: where threads meet"
cmake --preset tsan >/dev/null
cmake --build --preset tsan --target tsan_tests
run tsan build-tsan -L tsan

if [ -x tests/fuzz/run.sh ]; then
  say "fuzzers on their corpora"
  cmake --preset fuzz >/dev/null
  cmake --build --preset fuzz --target fuzzers
  tests/fuzz/run.sh "${FUZZ_SECONDS:-10}"
fi
finish
