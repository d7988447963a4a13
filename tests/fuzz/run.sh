#!/usr/bin/env bash
# usage: tests/fuzz/run.sh [SECONDS] [NAME...]
# Runs every fuzzer (or the named ones) for SECONDS each on its committed corpus (tests/fuzz/corpus/NAME) and what it finds from there.
# A crash is kept in build-fuzz/crashes and fails the run. Closes with "N passed, M failed".
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:-30}
shift || true
case $seconds in '' | *[!0-9]*) echo "error: \"$seconds\" is not a number of seconds; usage: $0 [SECONDS] [NAME...]" >&2; exit 1 ;; esac
names=${*:-$(cd build-fuzz/bin && ls -d fz_* 2>/dev/null)}
[ -n "$names" ] || { echo "error: no fuzzer is built; ./dev build fuzz" >&2; exit 1; }
mkdir -p build-fuzz/crashes
passed=0
failed=0
for name in $names; do
  grown=build-fuzz/corpus/$name
  mkdir -p "$grown" "tests/fuzz/corpus/$name"
  words=()
  [ -f "tests/fuzz/$name.dict" ] && words=("-dict=tests/fuzz/$name.dict")
  log=build-fuzz/$name.log
  if "build-fuzz/bin/$name" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/crashes/$name-" "${words[@]}" "$grown" "tests/fuzz/corpus/$name" >"$log" 2>&1; then
    passed=$((passed + 1))
    printf '%-16s clean  %s executions, %s\n' "$name" "$(sed -n 's/stat::number_of_executed_units: //p' "$log")" \
      "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)"
  else
    failed=$((failed + 1))
    printf '%-16s FAILED, see %s\n' "$name" "$log"
    tail -n 30 "$log"
  fi
done
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
