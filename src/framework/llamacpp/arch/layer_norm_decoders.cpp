// SPDX-License-Identifier: Apache-2.0
// Plain decoders with layer norms: GPT-2 and what is made like it.
#include "framework/llamacpp/arch/plain_decoder.h"

namespace memtape::llamacpp::arch {
namespace {

constexpr PlainDecoder kBiased{.norm = Norm::layer,
                               .norm_bias = true,
                               .qkv_bias = true,
                               .output_bias = true,
                               .ffn_bias = true,
                               .activation = Activation::gelu,
                               .gated = false};
constexpr PlainDecoder kFusedBiased = [] {
  PlainDecoder kind = kBiased;
  kind.fused_qkv = true;
  return kind;
}();
constexpr PlainDecoder kGpt = [] {
  PlainDecoder kind = kFusedBiased;
  kind.learned_positions = true;
  return kind;
}();
constexpr PlainDecoder kBloomLike = [] {
  PlainDecoder kind = kFusedBiased;
  kind.token_norm = true;
  return kind;
}();
constexpr PlainDecoder kJaisLike = [] {
  PlainDecoder kind = kFusedBiased;
  kind.activation = Activation::silu;
  kind.gated = true;
  return kind;
}();
constexpr PlainDecoder kMptLike{
    .norm = Norm::layer, .fused_qkv = true, .activation = Activation::gelu, .gated = false};
constexpr PlainDecoder kNemotronLike{
    .norm = Norm::layer, .norm_bias = true, .activation = Activation::relu_sqr, .gated = false};
constexpr PlainDecoder kSquared = [] {
  PlainDecoder kind = kBiased;
  kind.activation = Activation::relu_sqr;
  return kind;
}();
constexpr PlainDecoder kOrionLike{.norm = Norm::layer, .norm_bias = true};
constexpr PlainDecoder kOlmoLike{.norm = Norm::layer, .norm_weights = false};

void read_no_layer_norm_keys(Hyperparameters&, KeyReader&) {}

void read_gpt2(Hyperparameters& hp, KeyReader&) {
  hp.no_rope_step = 1;
  hp.usually_tied = true;
}

void read_starcoder(Hyperparameters& hp, KeyReader&) { hp.no_rope_step = 1; }

void read_starcoder2(Hyperparameters& hp, KeyReader&) {
  hp.usually_tied = true;  // as BigCode publishes the 3B and 7B
}

void read_bloom(Hyperparameters& hp, KeyReader& keys) {
  read_gpt2(hp, keys);
  hp.max_alibi_bias = 8;
}

void read_alibi(Hyperparameters& hp, KeyReader& keys) {
  hp.no_rope_step = 1;
  hp.max_alibi_bias = keys.number("attention.max_alibi_bias", 0);
}

void read_mpt(Hyperparameters& hp, KeyReader& keys) {
  read_alibi(hp, keys);
  hp.usually_tied = true;
  hp.clamp_kqv = keys.number("attention.clamp_kqv", 0);
}

void read_olmo(Hyperparameters& hp, KeyReader& keys) {
  hp.clamp_kqv = keys.number("attention.clamp_kqv", 0);
  hp.is_70b = hp.n_layer() == 80;
}

}  // namespace

const Architecture kGpt2 = plain_decoder<kGpt>("gpt2", read_gpt2);
const Architecture kStarcoder = plain_decoder<kGpt>("starcoder", read_starcoder);
const Architecture kStarcoder2 = plain_decoder<kBiased>("starcoder2", read_starcoder2);
const Architecture kCodeShell = plain_decoder<kFusedBiased>("codeshell", read_no_layer_norm_keys);
const Architecture kBloom = plain_decoder<kBloomLike>("bloom", read_bloom);
const Architecture kMpt = plain_decoder<kMptLike>("mpt", read_mpt);
const Architecture kJais2 = plain_decoder<kSquared>("jais2", read_no_layer_norm_keys);
const Architecture kJais = plain_decoder<kJaisLike>("jais", read_alibi);
const Architecture kNemotron = plain_decoder<kNemotronLike>("nemotron", read_no_layer_norm_keys);
const Architecture kOrion = plain_decoder<kOrionLike>("orion", read_no_layer_norm_keys);
const Architecture kOlmo = plain_decoder<kOlmoLike>("olmo", read_olmo);

}  // namespace memtape::llamacpp::arch
