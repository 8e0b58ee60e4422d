// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/lora.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// punica_base.py and LoRAKernelMeta.make, once for tokens and once for prompts.
void make_tables(std::vector<Tensor>& kept, const Settings& s) {
  const auto keep = [&](std::int64_t count, DType dtype) {
    kept.push_back(kernel_output("punica_wrapper", {count}, dtype));
  };
  for (int i = 0; i < 4; ++i) keep(s.max_num_batched_tokens, DType::int64);
  for (int i = 0; i < 3; ++i) keep(s.max_num_seqs, DType::int64);
  for (int meta = 0; meta < 2; ++meta) {
    keep(s.max_num_batched_tokens, DType::int32);
    keep(s.max_num_batched_tokens, DType::int32);
    for (const std::int64_t more : {1, 1, 2}) keep(s.lora->adapters + more, DType::int32);
  }
}

}  // namespace

std::vector<Tensor> make_lora_buffers(const std::vector<LoraSite>& sites, const Settings& s) {
  std::vector<Tensor> kept;
  make_tables(kept, s);
  const std::int64_t adapters = s.lora->adapters, rank = s.lora->rank;
  for (const LoraSite& site : sites) {
    for (std::size_t slice = 0; slice < site.outs.size(); ++slice)
      kept.push_back(
          kernel_output("lora_a_stacked", {adapters, site.experts, rank, site.in}, s.dtype));
    for (const std::int64_t out : site.outs)
      kept.push_back(kernel_output("lora_b_stacked", {adapters, site.experts, out, rank}, s.dtype));
  }
  return kept;
}

Bytes lora_scratch(const Settings& s, std::int64_t slices, std::int64_t tokens) {
  return bytes_of(DType::float32, slices * tokens * s.lora->rank);
}

}  // namespace memtape::vllm
