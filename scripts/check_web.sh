#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks build/web (scripts/build_web.sh): types, the page in a real Chromium, and that the module answers with the bytes of
# build/release/memtape.
#   check_web.sh [--screenshots FOLDER]
set -eu
cd "$(dirname "$0")/.."
pictures=
[ "${1-}" = --screenshots ] && { mkdir -p "$2"; pictures=$(cd "$2" && pwd); }
[ -e build/web/index.html ] || { echo "memtape: build/web is missing; scripts/build_web.sh makes it" >&2; exit 3; }
[ -x "${CHROMIUM:=/usr/bin/chromium}" ] || { echo "memtape: no Chromium at $CHROMIUM (Debian: chromium)" >&2; exit 3; }
export CHROMIUM
npm --prefix web run --silent check
node web/scripts/browser_test.mjs build/web $pictures
node web/scripts/same_bytes.mjs build/wasm/memtape.wasm build/release/memtape
