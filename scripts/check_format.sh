#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every C++ file is as clang-format-19 writes it (.clang-format). The version is pinned: each release breaks lines a
# little differently.
#   check_format.sh [--fix] [FILE-OR-FOLDER...]    --fix writes it so
set -eu
cd "$(dirname "$0")/.."
tool=clang-format-19
command -v $tool >/dev/null || { echo "$tool is not installed"; exit 77; }
how="--dry-run -Werror"
if [ "${1-}" = --fix ]; then how=-i; shift; fi
[ $# -gt 0 ] || set -- src apps fuzz bench tests
find "$@" -type f \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z | xargs -0 -r $tool $how --style=file
