#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy.md from the recorded rows. With --check PROGRAM: writes nothing, fails when the page is out of date.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$root/build/release/memtape
page=$root/docs/accuracy.md
if [ "${1:-}" = --check ]; then
  program=$2
  page=$(mktemp)
  trap 'rm -f "$page"' EXIT
fi
cd "$root"
{
  cat docs/accuracy/introduction.md
  "$program" scoreboard --markdown tests/truth/torch_steps.jsonl
  cat docs/accuracy/peers.md
} > "$page"
if [ "${1:-}" = --check ] && ! diff -u docs/accuracy.md "$page"; then
  echo "docs/accuracy.md is out of date: run scripts/update_accuracy.sh" >&2
  exit 1
fi
