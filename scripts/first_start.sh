#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Times the first start: clones the last commit into an empty folder and runs the first command of its README there, without a
# compiler cache. To be measured on a machine that does nothing else.
#   first_start.sh           prints wall time and processor time
#   first_start.sh --write   and puts them into docs/performance.md
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
case "${1-}" in
  "" | --write) ;;
  *) echo "memtape: first_start.sh: unknown option $1 (did you mean --write?)" >&2; exit 2 ;;
esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CCACHE_DISABLE=1

began=$(date +%s)
git clone -q "$source" "$folder/memtape"
cd "$folder/memtape"
first=$(sed -n 's/^\(\.\/memtape [^#]*\).*/\1/p' README.md | head -n 1)
echo "$first"
code=0
eval "$first" || code=$?
[ "$code" -le 1 ] || { echo "the first command failed with exit code $code"; exit 1; }
wall=$(($(date +%s) - began))
times >"$folder/times"
cpu=$(awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "m"); s += 60 * t[1] + t[2] } printf "%d", s }' "$folder/times")

time_of() { printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); }
row="| from \`git clone\` to the printed answer, $(nproc) cores, no compiler cache | $(time_of $wall) | $(time_of "$cpu") |"
echo "$row"
if [ "${1-}" = --write ]; then
  awk -v row="$row" '/^\| from `git clone` to the printed answer/ { print row; next } { print }' "$source/docs/performance.md" >"$folder/page"
  cp "$folder/page" "$source/docs/performance.md"
fi
