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
  for part in torch_compile trainer litgpt data_parallel deepspeed torch_parallel torch_pp megatron generate vllm llamacpp \
              llamacpp_quant_sizes; do
    cat "docs/accuracy/$part.md"
    case $part in
      llamacpp) rows=tests/truth/llamacpp_synthetic.jsonl ;;
      megatron) rows=tests/truth/megatron_core.jsonl ;;
      *) rows=tests/truth/$part.jsonl ;;
    esac
    [ -f "$rows" ] || rows=$rows.gz
    "$program" scoreboard --markdown "$rows"
  done
  cat docs/accuracy/further_recordings.md
  cd tests/truth
  ../../scripts/further_recordings.py "$program" small_models.jsonl further_families.jsonl latest_families.jsonl classifier_heads.jsonl \
    optimizer_in_backward.jsonl trainer_options.jsonl trainer_recipes.jsonl trainer_trl.jsonl trainer_draws.jsonl trainer_packed.jsonl \
    trainer_programs.jsonl trainer_axolotl.jsonl trainer_llama_factory.jsonl trainer_llama_factory_kto.jsonl \
    trainer_llama_factory_rm.jsonl trainer_switched_off_dropout.jsonl accelerate_loops.jsonl trainer_parallel.jsonl \
    trainer_parallel_recipes.jsonl trainer_parallel_adapters.jsonl trainer_parallel_trl.jsonl trainer_parallel_further.jsonl trainer_init_device.jsonl trainer_ranks.jsonl \
    data_parallel_families.jsonl data_parallel_draws.jsonl parallel_programs.jsonl init_device.jsonl deepspeed_families.jsonl deepspeed_adapters.jsonl \
    megatron_experts.jsonl torchtitan_phantom.jsonl torchtitan_mixtures.jsonl torchtitan_expert_parallel.jsonl \
    torchtitan_mixture_parallel.jsonl torchtitan_context_tensor.jsonl torchtitan_llama4.jsonl torchtitan_early.jsonl torchtitan_drawn_options.jsonl \
    generate_decoding.jsonl generate_families.jsonl vllm_families.jsonl.gz llamacpp_architectures.jsonl.gz llamacpp_rare_architectures.jsonl.gz
  cd ../..
} > "$page"
scripts/megatron_goldens.py "$program" --page > "$goldens"
if [ "${1:-}" = --check ] && ! { diff -u docs/accuracy.md "$page" && diff -u docs/accuracy/megatron_goldens.md "$goldens"; }; then
  echo "docs/accuracy is out of date: run scripts/update_accuracy.sh" >&2
  exit 1
fi
