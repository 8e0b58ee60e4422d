// SPDX-License-Identifier: Apache-2.0
// Build: llama.cpp numbers its builds, which are the commits of its main branch. Everything else in
// this folder describes v0.5.0. What earlier builds do otherwise, as far as it affects memory, is a
// question here, which is named for what changed and cites the number of the pull request that
// changed it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace memtape::llamacpp {

class Build {
 public:
  static constexpr int kOldest = 2413;    ///< March 2024: GPUs are pipelined from here on (6017)
  static constexpr int kCurrent = 11000;  ///< v0.5.0, 28 September 2026

  Build() = default;
  /// Reads "b6209", "6209", "6209 (fb22dd07)", as logs print it, "0.5.0", or "0c1e5709", which is
  /// the commit of 1 October 2026 that llama-cpp-python 0.3.36 carries.
  static Result<Build> named(std::string_view text);

  int number() const { return number_; }

  /// The rotated halves of DeepSeek are views and are not copied first (12801).
  bool rotates_views() const { return number_ >= 5137; }
  /// Layers with a window have a cache of their own size (13194).
  bool separates_windows() const { return number_ >= 5429; }
  /// The gate and its activation are one op (14158).
  bool fuses_gates() const { return number_ >= 5776; }
  /// Q and K are views of a fused product and are not copied out of it (14568).
  bool views_fused_queries() const { return number_ >= 5837; }
  /// V is a view of the fused product, too (15662).
  bool views_fused_values() const { return number_ >= 6410; }
  /// Caches are written by row numbers, so that each sequence can have its own (14959).
  bool writes_rows() const { return number_ >= 6071; }
  /// Flash attention is used where it can run, and all layers go to the GPUs, unless asked
  /// otherwise (15434).
  bool offloads_by_default() const { return number_ >= 6325; }
  /// The weights of the experts are computed before the experts are (16130).
  bool weighs_experts_early() const { return number_ >= 6583; }
  /// Metal sorts its part of a graph (15929).
  bool sorts_for_metal() const { return number_ >= 6460; }
  /// Metal's kernels take the memory they need beside their results from the graph (15966).
  bool keeps_metal_scratch() const { return number_ >= 6473; }
  /// Metal's flash attention takes any number of keys (16148).
  bool pads_metal_keys() const { return number_ >= 6703; }
  /// Vulkan sorts its part of a graph (15850).
  bool sorts_for_vulkan() const { return number_ >= 6421; }
  /// Vulkan devices can be pipelined (18047).
  bool pipelines_vulkan() const { return number_ >= 7502; }
  /// Vulkan has flash attention without NVIDIA's cooperative matrices (13324).
  bool attends_on_vulkan() const { return number_ >= 5335; }
  /// Gates are computed as soon as they are built (16715, reverted by 17633).
  bool computes_gates_early() const { return number_ >= 6841 && number_ < 7213; }
  /// Unless asked otherwise, llama-server has four slots, which share one cache (16736).
  bool has_four_slots() const { return number_ >= 6925; }
  /// Caches are always padded to 256 cells (17046).
  bool pads_all_caches() const { return number_ >= 6975; }
  /// V is expanded before K (16884).
  bool values_first() const { return number_ >= 7044; }
  /// Masks have one row for each token and are not padded to 64 (17910).
  bool masks_fit() const { return number_ >= 7350; }
  /// The tokens of context unless asked otherwise; 0 is as many as the model was trained for. That
  /// came instead of 512 (7675), 4096 instead of it (10136), and then it came back (16653).
  std::int64_t default_context() const {
    if (number_ < 3087) return 512;
    return number_ >= 4014 && number_ < 7407 ? 4096 : 0;
  }
  /// What was not said is made to fit: a shorter context first, then fewer layers (16653).
  bool fits_what_is_unsaid() const { return number_ >= 7407; }
  /// Rows are split with the other tensors of a layer on the layer's device, not on the main one
  /// (10026).
  bool splits_rows_of_layers() const { return number_ >= 4014; }
  /// CUDA, and what is built from its sources, has no buffers any more that are split by rows
  /// (24216).
  bool drops_row_splits() const { return number_ >= 9890; }
  /// The output layer is the first that goes to a GPU and counts as one of the layers there
  /// (18148).
  bool counts_output() const { return number_ >= 7467; }
  /// In latent caches, V is a view of K (18986).
  bool views_latent_values() const { return number_ >= 7812; }
  /// The graph has both inputs, that of tokens and that of embeddings (18898).
  bool has_both_inputs() const { return number_ >= 7819; }
  /// Latent caches hold no V (19067).
  bool drops_latent_values() const { return number_ >= 7832; }
  /// Quantized caches are rotated (21038).
  bool rotates_caches() const { return number_ >= 8619; }
  /// Experts are summed in the order of the graph and not when they are needed (19378).
  bool sums_experts_early() const { return number_ >= 8738; }
  /// Masks are in half precision from the start (23764).
  bool masks_in_half() const { return number_ >= 9410; }
  /// llama-server reserves one row of logits for each slot, not for each token (23861).
  bool limits_outputs() const { return number_ >= 9460; }
  /// CUDA converts quantized keys and values in the graph's memory (23907).
  bool converts_in_graph() const { return number_ >= 9489; }
  /// DeepSeek's queries are rotated in place. This came after August 2026.
  bool rotates_whole_queries() const { return number_ >= kCurrent; }
  /// A server that really loads keeps the norms of a layer on the layer's device. The pass without
  /// memory, which gives the figures of v0.5.0, forgets this (ggml_backend_sched_reserve_size).
  bool keeps_pins() const { return numbered_; }
  /// CUDA's fused experts keep what they read (27301). This came after the build of 30 August 2026.
  bool keeps_fused_inputs() const { return number_ >= 10640; }
  /// Pipelined GPUs also have copies of inputs that no node reads. This came by 1 October 2026
  /// (ggml-backend.cpp, pass 6 of ggml_backend_sched_split_graph).
  bool copies_unused_inputs() const { return number_ > kCurrent; }

 private:
  int number_ = kCurrent;
  bool numbered_ = false;
};

}  // namespace memtape::llamacpp
