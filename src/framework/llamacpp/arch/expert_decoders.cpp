// SPDX-License-Identifier: Apache-2.0
// Plain decoders with experts behind RMS norms: dense layers first, then routed and maybe shared
// experts.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr PlainDecoder kExperts{};
constexpr PlainDecoder kExpertsHeadNorms{.head_norms = true};
constexpr PlainDecoder kHeadNormsAndFactors{.head_norms = true, .rope_factors = true};
constexpr PlainDecoder kExpertsFusedHeadNorms{.fused_qkv = true, .head_norms = true};
constexpr PlainDecoder kRowNorms{.row_norms = true};
constexpr PlainDecoder kExpertsRotatedThenNormed{
    .head_norms = true, .rotates_first = true, .rope_factors = true};
constexpr PlainDecoder kBiasesEverywhere{.norm_bias = true,
                                         .qkv_bias = true,
                                         .output_bias = true,
                                         .scales_queries = true,
                                         .rope_factors = true,
                                         .vocabulary_bias = true,
                                         .residual_first = true};
constexpr PlainDecoder kDbrxLike{
    .norm = Norm::layer, .fused_qkv = true, .ffn_norm = "attn_output_norm"};

void read_experts(Hyperparameters& hp, KeyReader& keys) {
  hp.ff_exp = keys.per_layer("expert_feed_forward_length", hp.n_layer_all, 0);
  hp.n_layer_dense_lead = keys.count("leading_dense_block_count", 0);
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = keys.flag("expert_weights_norm", false);
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

Gating gating_of(KeyReader& keys) {
  const std::int64_t gating = keys.count("expert_gating_func", 0);
  if (gating < 1 || gating > 2) keys.fail("expert_gating_func", "must be 1 or 2");
  return gating == 2 ? Gating::sigmoid : Gating::softmax;
}

/// The width of experts is the dense one's share where the file does not say.
void share_width(Hyperparameters& hp) {
  if (hp.n_ff_exp() == 0 && hp.n_expert_used > 0)
    hp.ff_exp.assign(hp.ff_exp.size(), hp.n_ff() / hp.n_expert_used);
}

void read_shared(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.n_ff_shexp = keys.dimension("expert_shared_count") * hp.n_ff_exp();
}

void read_qwen3moe(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  share_width(hp);
  hp.n_layer_dense_lead = 0;
  hp.expert_weights_norm = true;
}

void read_qwen3vlmoe(Hyperparameters& hp, KeyReader& keys) {
  read_qwen3moe(hp, keys);
  hp.mrope = true;
  hp.n_deepstack = keys.count("n_deepstack_layers", 0);
  if (hp.n_deepstack > hp.n_layer()) keys.fail("n_deepstack_layers", "is more than there are");
}

void read_ernie(Hyperparameters&, KeyReader&) {}

void read_ernie_moe(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.expert_layer_step = keys.dimension("interleave_moe_layer_step");
  hp.expert_weights_norm = hp.expert_bias = true;
}

void read_dots1(Hyperparameters& hp, KeyReader& keys) {
  read_shared(hp, keys);
  hp.expert_bias = true;
  hp.gating = gating_of(keys);
}

void read_deepseek(Hyperparameters& hp, KeyReader& keys) {
  read_shared(hp, keys);
  hp.expert_weights_norm = false;
}

/// DeepSeek-OCR's decoder: V2's experts on plain attention.
void read_deepseek_ocr(Hyperparameters& hp, KeyReader& keys) {
  read_shared(hp, keys);
  hp.gating = keys.count("expert_gating_func", 1) == 2 ? Gating::sigmoid : Gating::softmax;
}

void read_bailing(Hyperparameters& hp, KeyReader& keys) {
  read_shared(hp, keys);
  hp.n_layer_dense_lead = 0;
}

void read_bailing2(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  const std::int64_t width = keys.count("expert_shared_feed_forward_length", 0);
  hp.n_ff_shexp = (width > 0 ? width : hp.n_ff_exp()) * keys.dimension("expert_shared_count");
  hp.gating = gating_of(keys);
  hp.expert_bias = true;
}

void read_hunyuan(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.n_ff_shexp = keys.dimension("expert_shared_feed_forward_length");
  hp.ff_exp.assign(hp.ff_exp.size(), 0);
  hp.expert_weights_norm = true;
}

void read_phimoe(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  hp.ff_exp.assign(hp.ff_exp.size(), 0);
  hp.expert_weights_norm = true;
}

void read_olmoe(Hyperparameters& hp, KeyReader& keys) {
  if (hp.n_expert == 0) keys.fail("expert_count", "is missing");
}

void read_minimax(Hyperparameters& hp, KeyReader& keys) {
  read_olmoe(hp, keys);
  hp.expert_weights_norm = hp.expert_bias = true;
  hp.gating = gating_of(keys);
}

void read_llada(Hyperparameters& hp, KeyReader& keys) {
  read_experts(hp, keys);
  share_width(hp);
  hp.n_layer_dense_lead = 0;
  hp.expert_weights_norm = hp.causal = false;
  hp.no_cache = true;
}

/// The same of Qwen's weights, normed.
void read_rnd(Hyperparameters& hp, KeyReader& keys) {
  read_llada(hp, keys);
  hp.expert_weights_norm = true;
}

void read_mellum(Hyperparameters& hp, KeyReader& keys) {
  constexpr std::int64_t kFullLayerEvery = 4;
  read_qwen3moe(hp, keys);
  hp.n_swa = keys.count("attention.sliding_window", 0);
  hp.swa = hp.n_swa > 0;
  if (hp.swa) hp.read_swa_pattern(keys, kFullLayerEvery);
}

void read_exaone_moe(Hyperparameters& hp, KeyReader& keys) {
  constexpr std::int64_t kFullLayerEvery = 4;
  read_experts(hp, keys);
  hp.n_swa = keys.dimension("attention.sliding_window");
  hp.swa = hp.rotates_windows_only = hp.expert_bias = true;
  hp.read_swa_pattern(keys, kFullLayerEvery);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", hp.n_ff_exp());
  hp.gating = gating_of(keys);
}

void read_dbrx(Hyperparameters& hp, KeyReader& keys) {
  read_phimoe(hp, keys);
  hp.clamp_kqv = keys.number("attention.clamp_kqv", 0);
}

/// Behind the layers, a block to draft with is stored.
void list_exaone_moe(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kHeadNormsAndFactors, hp, weights);
  weights.skip_from_here();
  for (std::int64_t il = hp.n_layer(); il < hp.n_layer_all; ++il) {
    list_plain_layer(kExpertsHeadNorms, hp, weights, il, true);
    weights.draft_block(hp, il, false);
  }
}

void build_exaone_moe(GraphBuilder& b) {
  build_plain(kHeadNormsAndFactors, b, [](GraphBuilder& g, std::int64_t il, Attended a) {
    return rest_of_plain(kHeadNormsAndFactors, g, il, a);
  });
}

}  // namespace

const Architecture kExaoneMoe{"exaone-moe", read_exaone_moe, list_exaone_moe, build_exaone_moe};
const Architecture kQwen3Moe = plain_decoder<kExpertsHeadNorms>("qwen3moe", read_qwen3moe);
const Architecture kQwen3VlMoe = plain_decoder<kExpertsHeadNorms>("qwen3vlmoe", read_qwen3vlmoe);
const Architecture kLladaMoe = plain_decoder<kExpertsHeadNorms>("llada-moe", read_llada);
const Architecture kRnd1 = plain_decoder<kExpertsHeadNorms>("rnd1", read_rnd);
const Architecture kMellum = plain_decoder<kExpertsHeadNorms>("mellum", read_mellum);
const Architecture kErnie45 = plain_decoder<kExperts>("ernie4_5", read_ernie);
const Architecture kErnie45Moe = plain_decoder<kExperts>("ernie4_5-moe", read_ernie_moe);
const Architecture kDots1 = plain_decoder<kExpertsHeadNorms>("dots1", read_dots1);
const Architecture kDeepseek = plain_decoder<kExperts>("deepseek", read_deepseek);
const Architecture kDeepseek2Ocr = plain_decoder<kExperts>("deepseek2-ocr", read_deepseek_ocr);
const Architecture kBailingMoe = plain_decoder<kExperts>("bailingmoe", read_bailing);
const Architecture kBailingMoe2 =
    plain_decoder<kExpertsFusedHeadNorms>("bailingmoe2", read_bailing2);
const Architecture kHunyuanMoe =
    plain_decoder<kExpertsRotatedThenNormed>("hunyuan-moe", read_hunyuan);
const Architecture kPhiMoe = plain_decoder<kBiasesEverywhere>("phimoe", read_phimoe);
const Architecture kDbrx = plain_decoder<kDbrxLike>("dbrx", read_dbrx);
const Architecture kOlmoe = plain_decoder<kRowNorms>("olmoe", read_olmoe);
const Architecture kMinimaxM2 = plain_decoder<kRowNorms>("minimax-m2", read_minimax);

}  // namespace memtape::llamacpp::arch
