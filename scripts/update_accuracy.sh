#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy.md from the recorded rows. With --check PROGRAM: writes nothing, fails when the page is out of date.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$root/build/release/memtape
page=$root/docs/accuracy.md
if [ "${1:-}" = --check ]; then
  program=$2
  page=$(mktemp)
  trap 'rm -f "$page"' EXIT
fi
cd "$root"
{
  cat docs/accuracy/introduction.md
  "$program" scoreboard --markdown tests/truth/torch_steps.jsonl
  cat docs/accuracy/peers.md
  for part in trainer litgpt data_parallel deepspeed torch_parallel torch_pp megatron generate vllm llamacpp; do
    cat "docs/accuracy/$part.md"
    case $part in
      llamacpp) rows="llamacpp_synthetic llamacpp_quant_sizes" ;;
      megatron) rows="megatron_core" ;;
      *) rows=$part ;;
    esac
    for name in $rows; do
      file=tests/truth/$name.jsonl
      if [ -f "$file.gz" ]; then
        file=$(mktemp --suffix=.jsonl)
        gzip -cd "tests/truth/$name.jsonl.gz" > "$file"
        "$program" scoreboard --markdown "$file"
        rm -f "$file"
      else
        "$program" scoreboard --markdown "$file"
      fi
    done
  done
} > "$page"
if [ "${1:-}" = --check ] && ! diff -u docs/accuracy.md "$page"; then
  echo "docs/accuracy.md is out of date: run scripts/update_accuracy.sh" >&2
  exit 1
fi
