#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds build/release/memtape, one builder at a time, and marks it ready. Speaks on standard error only.
#   build_release.sh                     what ./memtape starts
#   build_release.sh --static [MACHINE]  dist/memtape-VERSION-linux-MACHINE (x86_64, aarch64): one file that carries its libraries and
#                                        runs on any Linux; zig compiles it, some 20 minutes the first time
set -eu
cd "$(dirname "$0")/.."
say() { echo "memtape: $*" >&2; }

one_at_a_time() {  # FOLDER
  mkdir -p "$1"
  exec 9>"$1/.lock"
  if command -v flock >/dev/null; then flock 9; fi
}

build_static() {  # MACHINE
  case $1 in
    x86_64 | aarch64) ;;
    *) say "build_release.sh: unknown machine $1 (x86_64 or aarch64)"; exit 2 ;;
  esac
  folder=build/static
  [ "$1" = x86_64 ] || folder=build/static-$1
  one_at_a_time "$folder"
  scripts/install_dependencies.sh
  MEMTAPE_ZIG=${MEMTAPE_ZIG:-$(scripts/install_zig.sh)} CCACHE_COMPILERTYPE=clang
  export MEMTAPE_ZIG CCACHE_COMPILERTYPE
  scripts/fetch_libraries.sh
  say "building $folder/memtape (its log beside it)"
  {
    cmake --preset static -B "$folder" -DMEMTAPE_ZIG_TARGET="$1-linux-musl"
    cmake --build "$folder" --target memtape
  } >"$folder/build.log" 2>&1 || { tail -n 40 "$folder/build.log" >&2; say "the build failed"; exit 3; }
  version=$(sed -n 's/^project(memtape VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  mkdir -p dist
  file=dist/memtape-$version-linux-$1
  cp "$folder/memtape" "$file"
  say "$file: $(du -h "$file" | cut -f 1)"
}

case "${1-}" in
  "") ;;
  --static) build_static "${2-$(uname -m)}"; exit ;;
  *) say "build_release.sh: unknown option $1 (did you mean --static?)"; exit 2 ;;
esac

one_at_a_time build/release
[ ! -e build/release/.ready ] || exit 0
scripts/install_dependencies.sh
say "building build/release/memtape (once, some minutes)"
{
  [ -e build/release/build.ninja ] || cmake --preset release -DMEMTAPE_TESTS=OFF
  cmake --build build/release --target memtape
} >build/release/build.log 2>&1 || {
  tail -n 40 build/release/build.log >&2
  say "the build failed; build/release/build.log holds all of it"
  exit 3
}
: >build/release/.ready
