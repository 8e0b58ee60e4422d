#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy.md and docs/accuracy/megatron_goldens.md from the recorded rows, as PROGRAM (build/release/memtape) predicts
# them. With --check PROGRAM: writes nothing, fails when a page is out of date.
#   update_accuracy.sh [PROGRAM] | --check PROGRAM
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$root/build/release/memtape
page=$root/docs/accuracy.md
goldens=$root/docs/accuracy/megatron_goldens.md
if [ "${1:-}" = --check ]; then
  program=$2
  page=$(mktemp)
  goldens=$(mktemp)
  trap 'rm -f "$page" "$goldens"' EXIT
elif [ $# -gt 0 ]; then
  program=$1
fi
cd "$root"
{
  cat docs/accuracy/published.md docs/accuracy/introduction.md
  "$program" scoreboard --markdown tests/truth/torch_steps.jsonl
  cat docs/accuracy/peers.md
  # Files that have a section of their own, docs/accuracy/NAME.md, in the order of the page.
  for part in torch_compile trainer litgpt data_parallel deepspeed torch_parallel torch_pp megatron_core generate vllm llamacpp_synthetic \
              llamacpp_quant_sizes; do
    cat "docs/accuracy/$part.md"
    "$program" scoreboard --markdown tests/truth/$part.jsonl*
  done
  cat docs/accuracy/further_recordings.md
  scripts/further_recordings.py "$program"
} > "$page"
scripts/megatron_goldens.py "$program" --page > "$goldens"
if [ "${1:-}" = --check ] && ! { diff -u docs/accuracy.md "$page" && diff -u docs/accuracy/megatron_goldens.md "$goldens"; }; then
  echo "docs/accuracy is out of date: run scripts/update_accuracy.sh" >&2
  exit 1
fi
