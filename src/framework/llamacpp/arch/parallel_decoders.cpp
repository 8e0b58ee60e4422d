// SPDX-License-Identifier: Apache-2.0
// Decoders whose feed-forward stands beside attention and not behind it: phi2, falcon, gptneox,
// plamo, stablelm's 12B, command-r and cohere2, whose layers without a window do not rotate.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr std::int64_t kLayersWithHeadNorms = 64;  ///< Command R+ and later
constexpr std::int64_t kLayersOfStable12 = 40;     ///< StableLM 2 12B

constexpr PlainDecoder kParallelPhi{.norm = Norm::layer,
                                    .norm_bias = true,
                                    .qkv_bias = true,
                                    .output_bias = true,
                                    .ffn_bias = true,
                                    .scales_queries = true,
                                    .vocabulary_bias = true,
                                    .activation = Activation::gelu,
                                    .gated = false,
                                    .ffn_norm = ""};
constexpr PlainDecoder kFalconLike{.norm = Norm::layer,
                                   .norm_bias = true,
                                   .fused_qkv = true,
                                   .activation = Activation::gelu,
                                   .gated = false,
                                   .ffn_norm = ""};
constexpr PlainDecoder kNeoX{.norm = Norm::layer,
                             .norm_bias = true,
                             .qkv_bias = true,
                             .output_bias = true,
                             .ffn_bias = true,
                             .fused_qkv = true,
                             .activation = Activation::gelu,
                             .gated = false};
constexpr PlainDecoder kStable{.norm = Norm::layer, .norm_bias = true};
constexpr PlainDecoder kStableParallel{.norm = Norm::layer, .norm_bias = true, .ffn_norm = ""};
constexpr PlainDecoder kPlamoLike{.ffn_norm = ""};
constexpr PlainDecoder kCommand{.norm = Norm::layer, .tied = true, .ffn_norm = ""};

void read_no_parallel_keys(Hyperparameters&, KeyReader&) {}

void read_neox(Hyperparameters& hp, KeyReader& keys) {
  hp.parallel_residual = keys.flag("use_parallel_residual", true);
}

void read_command_r(Hyperparameters& hp, KeyReader& keys) {
  hp.logit_scale = keys.number("logit_scale", 0);
}

void read_cohere2(Hyperparameters& hp, KeyReader& keys) {
  read_command_r(hp, keys);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = hp.rotates_windows_only = true;
  hp.read_swa_pattern(keys, 4);
}

void list_phi2(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kParallelPhi, hp, weights);
}
void list_plamo(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kPlamoLike, hp, weights);
}
void list_neox(const Hyperparameters& hp, WeightList& weights) { list_plain(kNeoX, hp, weights); }

/// The 40B and 180B norm twice; the 7B has one head of keys and values.
void list_falcon(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kFalconLike, hp, weights);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il)
    for (const char* name : {"attn_norm_2.weight", "attn_norm_2.bias"})
      weights.maybe(il, name, {hp.n_embd}, hp.n_head_kv() > 1);
}

void list_head_norms(const Hyperparameters& hp, WeightList& weights, bool usual) {
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) {
    weights.maybe(il, "attn_q_norm.weight", {hp.head_k, hp.n_head()}, usual);
    weights.maybe(il, "attn_k_norm.weight", {hp.head_k, hp.n_head_kv()}, usual);
  }
}

void list_stablelm(const Hyperparameters& hp, WeightList& weights) {
  const bool parallel = weights.knows_stored() ? !weights.is_stored(0, "ffn_norm.weight")
                                               : hp.n_layer() == kLayersOfStable12;
  PlainDecoder kind = parallel ? kStableParallel : kStable;
  kind.qkv_bias = weights.choices().extra;
  list_plain(kind, hp, weights);
  list_head_norms(hp, weights, parallel);
}

void list_command_r(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kCommand, hp, weights);
  list_head_norms(hp, weights, !hp.swa && hp.n_layer() >= kLayersWithHeadNorms);
}

Tensor* ungated(GraphBuilder& b, std::int64_t il, Tensor* x) {
  return b.ffn(il, x, {.activation = Activation::gelu, .gated = false});
}

Tensor* rest_of_phi2(GraphBuilder& b, std::int64_t il, Attended a) {
  return b.g.add(b.g.add(a.y, ungated(b, il, a.normed)), a.residual);
}

Tensor* rest_of_falcon(GraphBuilder& b, std::int64_t il, Attended a) {
  return b.g.add(b.g.add(ungated(b, il, a.normed), a.y), a.residual);
}

Tensor* rest_of_plamo(GraphBuilder& b, std::int64_t il, Attended a) {
  return b.g.add(b.g.add(b.ffn(il, a.normed, {}), a.y), a.residual);
}

Tensor* rest_of_neox(GraphBuilder& b, std::int64_t il, Attended a) {
  if (!b.hp.parallel_residual) return rest_of_plain(kNeoX, b, il, a);
  Tensor* y =
      b.norm(a.residual, b.w(il, "ffn_norm.weight"), b.w(il, "ffn_norm.bias"), Norm::layer, il);
  return b.g.add(b.g.add(ungated(b, il, y), a.residual), a.y);
}

Tensor* rest_of_stablelm(GraphBuilder& b, std::int64_t il, Attended a) {
  if (b.w(il, "ffn_norm.weight")) return rest_of_plain(kStable, b, il, a);
  Tensor* middle = b.g.add(a.y, a.residual);
  return b.g.add(b.ffn(il, a.normed, {}), middle);
}

Tensor* rest_of_command_r(GraphBuilder& b, std::int64_t il, Attended a) {
  return b.g.add(b.g.add(b.ffn(il, a.normed, {}), a.residual), a.y);
}

void build_phi2(GraphBuilder& b) { build_plain(kParallelPhi, b, rest_of_phi2); }

void build_falcon(GraphBuilder& b) {
  build_decoder(b, {.rest = rest_of_falcon, .norm = Norm::layer, .second_norm = "attn_norm_2"});
}

void build_plamo(GraphBuilder& b) { build_plain(kPlamoLike, b, rest_of_plamo); }

void build_neox(GraphBuilder& b) { build_plain(kNeoX, b, rest_of_neox); }

void build_stablelm(GraphBuilder& b) {
  build_decoder(b, {.rest = rest_of_stablelm, .norm = Norm::layer, .head_norm = Norm::layer});
}

void build_command_r(GraphBuilder& b) {
  build_decoder(b, {.rest = rest_of_command_r, .norm = Norm::layer, .head_norm = Norm::layer});
}

}  // namespace

const Architecture kCohere2{"cohere2", read_cohere2, list_command_r, build_command_r};
const Architecture kCommandR{"command-r", read_command_r, list_command_r, build_command_r};
const Architecture kFalcon{"falcon", read_no_parallel_keys, list_falcon, build_falcon};
const Architecture kGptNeoX{"gptneox", read_neox, list_neox, build_neox};
const Architecture kPhi2{"phi2", read_no_parallel_keys, list_phi2, build_phi2};
const Architecture kPlamo{"plamo", read_no_parallel_keys, list_plamo, build_plamo};
const Architecture kStableLm{"stablelm", read_no_parallel_keys, list_stablelm, build_stablelm};

}  // namespace memtape::llamacpp::arch
