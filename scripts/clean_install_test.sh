#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The README's promise, kept on a copy: clones the last commit into an empty folder, runs its two commands there, then
# installs into an empty prefix and runs what was installed. Takes as long as building everything does.
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git clone -q "$source" "$folder/memtape"
cd "$folder/memtape"

echo "== the first command of the README"
first=$(sed -n 's/^\(\.\/memtape [^#]*\).*/\1/p' README.md | head -n 1)
echo "$first"
code=0
eval "$first" || code=$?
[ "$code" -le 1 ] || { echo "the first command failed with exit code $code"; exit 1; }

echo "== the second command of the README"
./check

echo "== cmake --install"
cmake --install build/release --prefix "$folder/prefix" >/dev/null
cd "$folder"
"$folder/prefix/bin/memtape" --version
[ "$(memtape/memtape --version)" = "$("$folder/prefix/bin/memtape" --version)" ]
echo "the README's commands work on a clean copy"
