#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds build/web, the page that answers in the browser: the rooms as WebAssembly (zig), what is known by name, the page (npm).
#   build_web.sh             all of it; 3 minutes on two idle cores
#   build_web.sh --page      the page alone, around the module of the last time
#   build_web.sh --module    the module alone
# MEMTAPE_SOURCE=https://... puts a link to the source at the foot of the page.
set -eu
cd "$(dirname "$0")/.."
module=build/wasm/memtape.wasm
case "${1-}" in
  "" | --page | --module) ;;
  *) echo "memtape: build_web.sh: unknown word $1 (did you mean --page or --module?)" >&2; exit 2 ;;
esac
for tool in cmake ninja node npm; do
  command -v $tool >/dev/null || { echo "memtape: the page needs $tool (Debian: cmake ninja-build nodejs npm)" >&2; exit 3; }
done
say() { echo "memtape: $*" >&2; }

if [ "${1-}" != --page ]; then
  MEMTAPE_ZIG=${MEMTAPE_ZIG:-$(scripts/install_zig.sh)} CCACHE_COMPILERTYPE=clang
  export MEMTAPE_ZIG CCACHE_COMPILERTYPE
  scripts/fetch_libraries.sh
  say "building the module (build/wasm)"
  mkdir -p build/wasm
  { cmake --preset wasm && cmake --build build/wasm --target memtape_wasm; } >build/wasm/build.log 2>&1 || {
    tail -n 40 build/wasm/build.log >&2
    say "the build failed; build/wasm/build.log holds all of it"
    exit 3
  }
fi
[ "${1-}" != --module ] || exit 0
[ -e $module ] || { say "$module is missing; run scripts/build_web.sh without --page"; exit 3; }

say "building the page (build/web)"
[ web/node_modules/.package-lock.json -nt web/package-lock.json ] || npm --prefix web ci --no-audit --no-fund --loglevel=error >&2
mkdir -p web/public
node web/scripts/catalog.mjs $module web/public/catalog.json "$(node web/scripts/documents.mjs web/public/docs)"
cp $module web/public/memtape.wasm
npm --prefix web run --silent build >build/web.log 2>&1 || { cat build/web.log >&2; exit 3; }
node web/scripts/compress.mjs build/web
say "build/web is ready: serve it with python3 -m http.server --directory build/web"
