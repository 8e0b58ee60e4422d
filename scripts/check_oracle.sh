#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a Python environment with pinned packages under build/oracle (once), and runs the tests against real PyTorch on phantom
# GPUs. Needs PyPI the first time, and some 8 GB of disk.
set -eu
cd "$(dirname "$0")/.."
venv=build/oracle/venv
pins=tests/oracle/requirements.txt
if ! cmp -s "$pins" "$venv/pins"; then
  echo "making $venv"
  rm -rf "$venv"
  mkdir -p build/oracle
  { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$pins"; } >build/oracle/pip.log 2>&1 || {
    tail -n 20 build/oracle/pip.log
    echo "failed: the pinned packages cannot be installed (on Debian, python3-venv is needed)"
    exit 1
  }
  cp "$pins" "$venv/pins"
fi
exec python3 tests/oracle/run_oracle.py "${1:-build/release/memtape}" "$venv/bin/python" build/oracle/work
