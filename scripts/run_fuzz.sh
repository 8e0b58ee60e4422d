#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs one fuzz target for MEMTAPE_FUZZ_SECONDS (5) over its seeds in tests/corpus/NAME. What it finds worth keeping goes
# to build/fuzz/corpus/NAME, an input that breaks it to build/fuzz/broken/. Exits 77 (skipped) when it is not built.
set -eu
name=$1
cd "$(dirname "$0")/.."
program=build/fuzz/fuzz_$name
[ -x "$program" ] || { echo "$program is not built: cmake --preset fuzz && cmake --build --preset fuzz"; exit 77; }
mkdir -p "build/fuzz/corpus/$name" build/fuzz/broken
exec "$program" -seed=1 -max_total_time="${MEMTAPE_FUZZ_SECONDS:-5}" -timeout=10 -rss_limit_mb=2048 \
  -artifact_prefix="build/fuzz/broken/$name-" -print_final_stats=1 "build/fuzz/corpus/$name" "tests/corpus/$name"
