#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a Python environment with the packages of tests/programs/requirements.txt under build/programs (once), runs the register's
# programs on phantom GPUs, and writes docs/programs.md. Needs PyPI the first time, and some 3 GB beside the environment of
# ./check --oracle, whose packages it uses where they are there.
#   scripts/check_programs.sh [MEMTAPE [NAME...]]     with names, these programs alone, and no page is written
set -eu
cd "$(dirname "$0")/.."
folder=build/programs
venv=$folder/venv
pins=tests/programs/requirements.txt
oracle=build/oracle/venv
if ! cmp -s "$pins" "$venv/pins"; then
  echo "making $venv"
  rm -rf "$venv"
  mkdir -p "$folder"
  python3 -m venv "$venv"
  if cmp -s tests/oracle/requirements.txt "$oracle/pins"; then
    for packages in "$venv"/lib/python3*/site-packages; do
      echo "$PWD/$oracle/lib/$(basename "$(dirname "$packages")")/site-packages" >"$packages/oracle.pth"
    done
  fi
  # DeepSpeed's own build asks for torch, and compiles what no phantom needs unless told not to.
  { grep -v deepspeed "$pins" | sed "s|-r ../|-r $PWD/tests/|" >"$folder/first.txt" &&
    "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$folder/first.txt" wheel ninja &&
    DS_BUILD_OPS=0 "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation "$(grep deepspeed "$pins")"; } \
    >"$folder/pip.log" 2>&1 || {
    tail -n 20 "$folder/pip.log"
    exit 1
  }
  cp "$pins" "$venv/pins"
fi
memtape=${1:-build/release/memtape}
[ $# -eq 0 ] || shift
if [ $# -eq 0 ]; then
  exec python3 tests/programs/run_programs.py "$memtape" "$venv" "$folder" --page docs/programs.md
fi
exec python3 tests/programs/run_programs.py "$memtape" "$venv" "$folder" "$@"
