#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes a Python environment with pinned packages under build/oracle (once), and runs the tests against real PyTorch on phantom
# GPUs. Needs PyPI the first time, and some 8 GB of disk.
#   scripts/check_oracle.sh [--within SECONDS] [MEMTAPE]
# With --within, no test begins later than that, the installation's time counted, and where the packages cannot be had in that time
# the tests are left out: what is left out is said. Without it every test runs, and missing packages are a failure.
set -eu
cd "$(dirname "$0")/.."
began=$(date +%s)
within=
if [ "${1-}" = --within ]; then
  within=$2
  shift 2
fi
venv=build/oracle/venv
pins=tests/oracle/requirements.txt
if ! cmp -s "$pins" "$venv/pins"; then
  echo "making $venv"
  rm -rf "$venv"
  mkdir -p build/oracle
  { python3 -m venv "$venv" &&
    timeout "${within:-3600}" "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$pins"; } >build/oracle/pip.log 2>&1 || {
    tail -n 20 build/oracle/pip.log
    rm -rf "$venv"
    echo "the pinned packages cannot be installed (on Debian, python3-venv is needed)"
    [ -n "$within" ] || exit 1
    echo "left out: all tests against real PyTorch"
    exit 0
  }
  cp "$pins" "$venv/pins"
fi
left=${within:+$((within - $(date +%s) + began))}
exec python3 tests/oracle/run_oracle.py "${1:-build/release/memtape}" "$venv/bin/python" build/oracle/work ${left:+"$left"}
