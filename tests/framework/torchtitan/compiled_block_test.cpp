// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/compiled_block.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/torch/inductor/schedule.h"

namespace memtape::torchtitan {
namespace {

using testing::ElementsAre;
using torch::inductor::Graph;

ModelArgs args_of() {
  return {.dim = 64,
          .n_layers = 1,
          .n_heads = 8,
          .n_kv_heads = 2,
          .head_dim = 8,
          .hidden_dim = 128,
          .vocab_size = 100,
          .max_seq_len = 32};
}

/// Width of each value that the backward takes from the forward, in order.
std::vector<std::int64_t> saved_widths(ActivationCheckpoint checkpoint) {
  const auto graph = block_graph(args_of(), {.batch = 1, .tokens = 32}, checkpoint);
  std::vector<std::int64_t> widths;
  for (const auto id : torch::inductor::saved_values(*graph))
    widths.push_back((*graph)[id].sizes.back());
  return widths;
}

TEST(CompiledBlock, SavesEveryOtherProductUnderSelectiveCheckpointing) {
  // x, wq, wv, attention, its log-sum-exp, w1; w2's output is read by no backward
  EXPECT_THAT(saved_widths(ActivationCheckpoint::ops), ElementsAre(64, 64, 16, 64, 8, 128));
}

TEST(CompiledBlock, SavesItsInputAloneUnderFullCheckpointing) {
  EXPECT_THAT(saved_widths(ActivationCheckpoint::full), ElementsAre(64));
}

TEST(CompiledBlock, SavesOutputsOfKernelsWithoutCheckpointing) {
  // x, wq, wk, wv, attention, its log-sum-exp, wo, w1, w3
  EXPECT_THAT(saved_widths(ActivationCheckpoint::none),
              ElementsAre(64, 64, 16, 16, 64, 8, 64, 128, 128));
}

TEST(CompiledBlock, FusedValuesBecomeBuffersOnlyForKernels) {
  const auto graph = block_graph(args_of(), {.batch = 1, .tokens = 32}, ActivationCheckpoint::none);
  const std::vector<torch::inductor::ValueId> given{graph->hidden};
  std::vector<torch::inductor::ValueId> outputs = torch::inductor::saved_values(*graph);
  outputs.push_back(graph->output);
  std::vector<std::string> ops;
  for (const auto& step : schedule(*graph, {.outputs = outputs, .given = given}))
    ops.emplace_back((*graph)[step.value].op);
  EXPECT_THAT(
      ops, ElementsAre("rms_norm", "mm", "mm", "mm", "_to_copy", "mul", "_to_copy", "mul",
                       "rotary_emb", "rotary_emb", "expand", "_scaled_dot_product_flash_attention",
                       "_scaled_dot_product_flash_attention.logsumexp", "mm", "rms_norm", "mm",
                       "mm", "silu_mul", "mm", "add"));
}

}  // namespace
}  // namespace memtape::torchtitan
