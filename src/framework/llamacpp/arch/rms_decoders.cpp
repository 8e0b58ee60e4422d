// SPDX-License-Identifier: Apache-2.0
// Plain decoders with RMS norms: Llama and what is made like it, dense.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr PlainDecoder kLike{.rope_factors = true};
constexpr PlainDecoder kUngated{
    .rope_factors = true, .activation = Activation::relu_sqr, .gated = false};
constexpr PlainDecoder kBiasedQkv{.qkv_bias = true};
constexpr PlainDecoder kFusedBiasedQkv{.qkv_bias = true, .fused_qkv = true};
constexpr PlainDecoder kOtherNormName{.qkv_bias = true, .ffn_norm = "post_attention_norm"};
constexpr PlainDecoder kHeadNorms{.head_norms = true};
constexpr PlainDecoder kRotatedThenNormed{
    .head_norms = true, .rotates_first = true, .rope_factors = true};
constexpr PlainDecoder kXielu{
    .head_norms = true, .rope_factors = true, .activation = Activation::xielu, .gated = false};
constexpr PlainDecoder kBiasedAttention{.qkv_bias = true, .output_bias = true};
constexpr PlainDecoder kFusedHeadNorms{.fused_qkv = true, .head_norms = true, .tied = true};
constexpr PlainDecoder kFusedGate{
    .qkv_bias = true, .fused_qkv = true, .activation = Activation::swiglu_fused, .gated = false};
constexpr PlainDecoder kPhi{.fused_qkv = true,
                            .scales_queries = true,
                            .rope_factors = true,
                            .residual_first = true,
                            .activation = Activation::swiglu_fused,
                            .gated = false};

void read_no_keys(Hyperparameters&, KeyReader&) {}

void read_llama(Hyperparameters& hp, KeyReader& keys) {
  hp.is_70b = hp.n_expert != 8 && hp.n_layer() == 80 && hp.n_head() != hp.n_head_kv();
  hp.expert_weights_scale = keys.number("expert_weights_scale", 0);
  hp.expert_weights_norm = true;
}

void read_mistral3(Hyperparameters& hp, KeyReader& keys) {
  read_llama(hp, keys);
  hp.is_70b = false;
  hp.attn_temp_scale = keys.number("attention.temperature_scale", 0);
}

void read_granite(Hyperparameters& hp, KeyReader& keys) {
  read_llama(hp, keys);
  hp.is_70b = false;
  hp.logit_scale = 1;  // always scaled
  hp.residual_scale = keys.number("residual_scale", 0);
  hp.embedding_scale = keys.number("embedding_scale", 0);
  hp.n_ff_shexp = keys.count("expert_shared_feed_forward_length", 0);
  hp.usually_tied = true;
  if (!keys.flag("rope.scaling.finetuned", true)) hp.no_rope_step = 1;
}

void read_minicpm(Hyperparameters& hp, KeyReader& keys) {
  read_granite(hp, keys);
  hp.no_rope_step = 0;
  hp.residual_scale = keys.number("residual_scale", 1);
  hp.embedding_scale = keys.number("embedding_scale", 1);
}

void read_smollm3(Hyperparameters& hp, KeyReader&) {
  hp.no_rope_step = 4;
  hp.usually_tied = true;  // as the 3B is
}

void read_refact(Hyperparameters& hp, KeyReader&) {
  hp.max_alibi_bias = 8;
  hp.no_rope_step = 1;
}

/// The 7B rotates, the 13B has linear biases.
void read_baichuan(Hyperparameters& hp, KeyReader&) {
  if (hp.n_layer() != 32) hp.no_rope_step = 1;
  if (hp.n_layer() == 40) hp.max_alibi_bias = 8;
}

void read_qwen(Hyperparameters& hp, KeyReader&) {
  for (std::int64_t& width : hp.ff) width /= 2;  // the file counts gate and up
}

void read_qwen2(Hyperparameters& hp, KeyReader&) { hp.is_70b = hp.n_layer() == 80; }

void read_mrope(Hyperparameters& hp, KeyReader& keys) {
  hp.mrope = true;
  hp.n_deepstack = keys.count("n_deepstack_layers", 0);
  if (hp.n_deepstack > hp.n_layer()) keys.fail("n_deepstack_layers", "is more than there are");
}

void read_qwen2vl(Hyperparameters& hp, KeyReader& keys) {
  read_qwen2(hp, keys);
  hp.is_70b = false;
  hp.mrope = true;
}

void read_sections(Hyperparameters& hp, KeyReader& keys) {
  const auto sections = keys.array("rope.dimension_sections");
  hp.mrope = sections.size() > 1 && sections[0] > 0 && sections[1] > 0;
}

/// Diffusion: the whole batch sees itself.
void read_diffusion(Hyperparameters& hp, KeyReader&) {
  hp.causal = false;
  hp.no_cache = true;
}

void list_openelm(const Hyperparameters& hp, WeightList& weights) {
  list_plain(kFusedHeadNorms, hp, weights);
}

/// As a plain one, but for the order of the first sum.
Tensor* rest_of_openelm(GraphBuilder& b, std::int64_t il, Attended a) {
  Tensor* middle = b.g.add(a.residual, a.y);
  return b.g.add(b.ffn(il, b.rms(middle, b.w(il, "ffn_norm.weight"), il), {}), middle);
}

void build_openelm(GraphBuilder& b) { build_plain(kFusedHeadNorms, b, rest_of_openelm); }

}  // namespace

const Architecture kLlama = plain_decoder<kLike>("llama", read_llama);
const Architecture kInternLm2 = plain_decoder<kLike>("internlm2", read_no_keys);
const Architecture kMistral3 = plain_decoder<kLike>("mistral3", read_mistral3);
const Architecture kSmolLm3 = plain_decoder<kLike>("smollm3", read_smollm3);
const Architecture kExaone = plain_decoder<kLike>("exaone", read_no_keys);
const Architecture kGranite = plain_decoder<kLike>("granite", read_granite);
const Architecture kGraniteMoe = plain_decoder<kLike>("granitemoe", read_granite);
const Architecture kMiniCpm = plain_decoder<kLike>("minicpm", read_minicpm);
const Architecture kRefact = plain_decoder<kLike>("refact", read_refact);
const Architecture kBaichuan = plain_decoder<kLike>("baichuan", read_baichuan);
const Architecture kXverse = plain_decoder<kLike>("xverse", read_no_keys);
const Architecture kArcee = plain_decoder<kUngated>("arcee", read_no_keys);
const Architecture kQwen = plain_decoder<kFusedBiasedQkv>("qwen", read_qwen);
const Architecture kQwen2 = plain_decoder<kBiasedQkv>("qwen2", read_qwen2);
const Architecture kQwen2Vl = plain_decoder<kBiasedQkv>("qwen2vl", read_qwen2vl);
const Architecture kSeedOss = plain_decoder<kOtherNormName>("seed_oss", read_no_keys);
const Architecture kQwen3 = plain_decoder<kHeadNorms>("qwen3", read_no_keys);
const Architecture kQwen3Vl = plain_decoder<kHeadNorms>("qwen3vl", read_mrope);
const Architecture kHunyuanDense =
    plain_decoder<kRotatedThenNormed>("hunyuan-dense", read_sections);
const Architecture kHunyuanVl = plain_decoder<kRotatedThenNormed>("hunyuan_vl", read_sections);
const Architecture kOpenElm{"openelm", read_no_keys, list_openelm, build_openelm};
const Architecture kChatGlm = plain_decoder<kFusedGate>("chatglm", read_no_keys);
const Architecture kDream = plain_decoder<kBiasedQkv>("dream", read_diffusion);
const Architecture kLlada = plain_decoder<kLike>("llada", read_diffusion);
const Architecture kMainCoder = plain_decoder<kRotatedThenNormed>("maincoder", read_no_keys);
const Architecture kPanguEmbed = plain_decoder<kBiasedAttention>("pangu-embedded", read_no_keys);
const Architecture kPaddleOcr = plain_decoder<kLike>("paddleocr", read_qwen2vl);
const Architecture kApertus = plain_decoder<kXielu>("apertus", read_no_keys);
const Architecture kPhi3 = plain_decoder<kPhi>("phi3", read_no_keys);

}  // namespace memtape::llamacpp::arch
