#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds what people start, one builder at a time; an interrupted build goes on where it was. Speaks on standard error only.
#   build_release.sh                     build/release/memtape: what ./memtape starts
#   build_release.sh --stand-ins         and the phantom GPU's libraries beside it, which `memtape run` and its like load
#   build_release.sh --static [MACHINE]  dist/memtape-VERSION-linux-MACHINE (x86_64, aarch64): one file that carries its libraries and
#                                        runs on any Linux; zig compiles it, some 20 minutes the first time
set -eu
cd "$(dirname "$0")/.."
say() { echo "memtape: $*" >&2; }

one_at_a_time() {  # FOLDER
  mkdir -p "$1"
  exec 9>"$1/.lock"
  command -v flock >/dev/null || return 0
  flock -n 9 || { say "waiting for another start, which is building $1"; flock 9; }
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
  configure "$folder" --preset static -B "$folder" -DMEMTAPE_ZIG_TARGET="$1-linux-musl"
  scripts/build_with_progress.py "$folder" "$folder/memtape" memtape
  version=$(sed -n 's/^project(memtape VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
  mkdir -p dist
  file=dist/memtape-$version-linux-$1
  cp "$folder/memtape" "$file"
  say "$file: $(du -h "$file" | cut -f 1)"
}

configure() {  # FOLDER OPTIONS
  log=$1/configure.log
  shift
  cmake "$@" >"$log" 2>&1 || { tail -n 40 "$log" >&2; say "configuring failed; $log holds all of it"; exit 3; }
}

build_release() {  # MARK WHAT TARGETS: the mark says that it is there
  mark=$1 what=$2
  shift 2
  one_at_a_time build/release
  [ ! -e "$mark" ] || return 0
  scripts/install_dependencies.sh
  [ -e build/release/build.ninja ] || configure build/release --preset release -DMEMTAPE_TESTS=OFF
  scripts/build_with_progress.py build/release "$what" "$@"
  : >"$mark"
}

case "${1-}" in
  "") build_release build/release/.ready "build/release/memtape" memtape ;;
  --stand-ins) build_release build/release/phantom/.ready "the phantom GPU's libraries" memtape phantom ;;
  --static) build_static "${2-$(uname -m)}" ;;
  *) say "build_release.sh: unknown option $1 (did you mean --stand-ins or --static?)"; exit 2 ;;
esac
