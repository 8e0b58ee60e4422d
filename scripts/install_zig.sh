#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints where zig 0.17.1 is, after installing it from PyPI into the user's cache where it is missing: 400 MB, once.
set -eu
version=0.17.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/memtape/zig-$version
if [ ! -x "$cache/ziglang/zig" ]; then
  echo "memtape: installing zig $version into $cache" >&2
  python3 -m pip install --quiet --no-deps --no-compile --only-binary=:all: --target "$cache.part" "ziglang==$version" >&2
  mv "$cache.part" "$cache"
fi
echo "$cache/ziglang/zig"
