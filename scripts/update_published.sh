#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy/published_training.md, published_servers.md and their shares, published.md, which heads docs/accuracy.md, as PROGRAM
# (build/release/memtape) answers the rows. With --check PROGRAM: writes nothing, fails when one is out of date.
#   update_published.sh [PROGRAM] | --check PROGRAM
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/release/memtape}
pages=$root/docs/accuracy
if [ "${1:-}" = --check ]; then
  program=$2
  pages=$(mktemp -d)
  trap 'rm -rf "$pages"' EXIT
fi
cd "$root"
scripts/published_page.py "$program" --page > "$pages/published_training.md"
scripts/published_servers_page.py "$program" > "$pages/published_servers.md"
shares() { awk '/^\| published/ { on = 1 } /^(## |\| kind )/ { on = 0 } on' "$1"; }
{
  printf '# Accuracy\n\n## Published measurements\n\nRuns that others measured on real GPUs and published. Every row of the files is on a page of its own with its answer, or\n'
  printf 'with the reason why there is none: [training](accuracy/published_training.md), [servers](accuracy/published_servers.md),\n'
  printf "[Megatron-LM's goldens](accuracy/megatron_goldens.md). \`scripts/update_published.sh\` writes them.\n\n"
  shares "$pages/published_training.md"
  shares "$pages/published_servers.md"
  printf "Megatron-LM's goldens, bytes of the last rank:\n\n"
  awk '/^\| \| rows/ { on = 1 } /^$/ { on = 0 } on' docs/accuracy/megatron_goldens.md
  printf '\n'
} > "$pages/published.md"
[ "${1:-}" = --check ] || exit 0
for page in published_training published_servers published; do
  if ! diff -u "docs/accuracy/$page.md" "$pages/$page.md"; then
    echo "docs/accuracy/$page.md is out of date: run scripts/update_published.sh" >&2
    exit 1
  fi
done
