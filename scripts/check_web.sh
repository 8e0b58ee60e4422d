#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks build/web (scripts/build_web.sh): types, the page in a real Chromium, and that the module answers with the bytes of
# build/release/memtape.
#   check_web.sh [--screenshots FOLDER]
#   check_web.sh --bytes                 the bytes alone, of every recorded row: 6 minutes on two idle cores. Without it a twentieth of the rows is asked.
set -eu
cd "$(dirname "$0")/.."
bytes() { node web/scripts/same_bytes.mjs build/wasm/memtape.wasm build/release/memtape "$@"; }
case "${1-}" in
  --bytes) bytes; exit ;;
  "" | --screenshots) ;;
  *) echo "memtape: check_web.sh: unknown word $1 (did you mean --screenshots or --bytes?)" >&2; exit 2 ;;
esac
pictures=
[ "${1-}" = --screenshots ] && { mkdir -p "$2"; pictures=$(cd "$2" && pwd); }
[ -e build/web/index.html ] || { echo "memtape: build/web is missing; scripts/build_web.sh makes it" >&2; exit 3; }
[ -x "${CHROMIUM:=/usr/bin/chromium}" ] || { echo "memtape: no Chromium at $CHROMIUM (Debian: chromium)" >&2; exit 3; }
export CHROMIUM
npm --prefix web run --silent check
node web/scripts/browser_test.mjs build/web $pictures
bytes 200 20
