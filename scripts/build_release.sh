#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds build/release/memtape, one builder at a time, and marks it ready. Speaks on standard error only.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/release
exec 9>build/release/.lock
command -v flock >/dev/null && flock 9
[ ! -e build/release/.ready ] || exit 0
scripts/install_dependencies.sh
echo "memtape: building build/release/memtape (once, some minutes)" >&2
{
  [ -e build/release/build.ninja ] || cmake --preset release -DMEMTAPE_TESTS=OFF
  cmake --build build/release --target memtape
} >build/release/build.log 2>&1 || {
  tail -n 40 build/release/build.log >&2
  echo "memtape: the build failed; build/release/build.log holds all of it" >&2
  exit 3
}
: >build/release/.ready
