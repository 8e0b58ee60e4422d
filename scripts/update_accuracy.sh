#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/accuracy.md and docs/accuracy/megatron_goldens.md from the recorded rows. With --check PROGRAM: writes nothing, fails
# when a page is out of date.
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
fi
cd "$root"
{
  cat docs/accuracy/introduction.md
  "$program" scoreboard --markdown tests/truth/torch_steps.jsonl
  cat docs/accuracy/peers.md
  for part in torch_compile trainer litgpt data_parallel deepspeed torch_parallel torch_pp megatron generate vllm llamacpp; do
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
scripts/megatron_goldens.py "$program" --page > "$goldens"
if [ "${1:-}" = --check ] && ! { diff -u docs/accuracy.md "$page" && diff -u docs/accuracy/megatron_goldens.md "$goldens"; }; then
  echo "docs/accuracy is out of date: run scripts/update_accuracy.sh" >&2
  exit 1
fi
