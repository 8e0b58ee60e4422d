#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format-19 writes it (.clang-format). The version is pinned: each release breaks lines a
# little differently.
#   check_format.sh [--fix] [FILE-OR-FOLDER...]    --fix writes it so
set -eu
cd "$(dirname "$0")/.."
tool=clang-format-19
command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
fix=
if [ "${1-}" = --fix ]; then fix=yes; shift; fi
[ $# -gt 0 ] || set -- src apps phantom fuzz bench tests
files() { find "$@" -type f \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z; }
if [ -n "$fix" ]; then
  files "$@" | xargs -0 -r $tool -i --style=file
  exit
fi
wrong=$(files "$@" | xargs -0 -r $tool --dry-run --style=file 2>&1 | sed -n 's/^\([^: ]*\.\(h\|cpp\)\):.*/\1/p' | sort -u)
[ -z "$wrong" ] || { echo "not as $tool writes it (scripts/check_format.sh --fix):"; echo "$wrong"; exit 1; }
