// SPDX-License-Identifier: Apache-2.0
#include "plan/published.h"

#include <array>

namespace memtape::plan {
namespace {

/// Megatron-Bridge: docs/performance-summary.md and its archive, in bf16 or, where they have no such
/// row, in fp8. Llama 3: arXiv 2407.21783, table 4. DeepSeek-V3: arXiv 2412.19437, 3.2. torchtitan:
/// arXiv 2410.06511, tables 2 and 3.
constexpr auto kPublished = std::to_array<PublishedLayout>({
    {.where = "As Megatron-Bridge's recipe for Llama 3 8B on 8 H100",
     .framework = "megatron-core",
     .layers = 32,
     .hidden = 4096,
     .gpus = 8,
     .sequence = 8192,
     .cp = 2,
     .micro_batch = 1},
    {.where = "As Megatron-Bridge's recipe for Llama 3 70B on 64 H100",
     .framework = "megatron-core",
     .layers = 80,
     .hidden = 8192,
     .gpus = 64,
     .sequence = 8192,
     .tp = 4,
     .cp = 2,
     .pp = 4,
     .vpp = 5,
     .micro_batch = 1},
    {.where = "As Megatron-Bridge's recipe for Llama 3.1 405B on 1,024 H100",
     .framework = "megatron-core",
     .layers = 126,
     .hidden = 16384,
     .gpus = 1024,
     .sequence = 8192,
     .tp = 8,
     .cp = 2,
     .pp = 8,
     .vpp = 8,
     .micro_batch = 1},
    {.where = "As Llama 3 405B was trained on 16,384 H100",
     .framework = "megatron-core",
     .layers = 126,
     .hidden = 16384,
     .gpus = 16384,
     .sequence = 8192,
     .tp = 8,
     .pp = 16,
     .vpp = 0},
    {.where = "As Megatron-Bridge's recipe for Qwen3-30B-A3B on 16 H100",
     .framework = "megatron-core",
     .layers = 48,
     .hidden = 2048,
     .experts = 128,
     .gpus = 16,
     .sequence = 4096,
     .pp = 2,
     .vpp = 12,
     .ep = 8,
     .micro_batch = 1},
    {.where = "As Megatron-Bridge's recipe for Qwen3-235B-A22B on 256 H100",
     .framework = "megatron-core",
     .layers = 94,
     .hidden = 4096,
     .experts = 128,
     .gpus = 256,
     .sequence = 4096,
     .tp = 2,
     .pp = 8,
     .vpp = 4,
     .ep = 32,
     .micro_batch = 1},
    {.where = "As Megatron-Bridge's recipe for DeepSeek-V3 on 1,024 H100",
     .framework = "megatron-core",
     .layers = 61,
     .hidden = 7168,
     .experts = 256,
     .gpus = 1024,
     .sequence = 4096,
     .tp = 2,
     .pp = 8,
     .vpp = 4,
     .ep = 64,
     .micro_batch = 1},
    {.where = "As DeepSeek-V3 was trained on 2,048 H800, but for DualPipe",
     .framework = "megatron-core",
     .layers = 61,
     .hidden = 7168,
     .experts = 256,
     .gpus = 2048,
     .sequence = 4096,
     .pp = 16,
     .vpp = 0,
     .ep = 64},
    {.where = "As torchtitan's paper has Llama 3 8B on 8 H100",
     .framework = "torchtitan",
     .layers = 32,
     .hidden = 4096,
     .gpus = 8,
     .sequence = 8192,
     .micro_batch = 2},
    {.where = "As torchtitan's paper has Llama 3 70B on 256 H100",
     .framework = "torchtitan",
     .layers = 80,
     .hidden = 8192,
     .gpus = 256,
     .sequence = 8192,
     .tp = 8,
     .micro_batch = 16},
});

}  // namespace

bool PublishedLayout::is_for(const Job& job) const {
  const ModelFacts& facts = job.facts;
  return job.recipe.framework->name == framework && job.device.major == capability &&
         facts.layers == layers && facts.hidden == hidden && facts.experts == experts &&
         job.sequence == sequence && job.gpus % (tp * cp * pp) == 0;
}

bool PublishedLayout::is_of(const Candidate& c) const {
  const auto is = [](std::int64_t published, std::int64_t size) {
    return published == 0 || published == size;
  };
  const Sizes& s = c.sizes;
  return c.framework->name == framework && c.method == Method::full && is(tp, s.tp) &&
         is(cp, s.cp) && is(pp, s.pp) && is(vpp, s.vpp) && is(ep, s.ep) &&
         is(micro_batch, s.micro_batch);
}

std::span<const PublishedLayout> published_layouts() { return kPublished; }

}  // namespace memtape::plan
