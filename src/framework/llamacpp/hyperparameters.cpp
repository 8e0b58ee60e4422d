// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/hyperparameters.h"

#include <algorithm>

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kMostLayers = 512;    ///< LLAMA_MAX_LAYERS
constexpr std::int64_t kMostExperts = 1024;  ///< beyond LLAMA_MAX_EXPERTS nothing loads

/// The vocabulary: a key, else the length of the token list.
std::int64_t vocabulary(KeyReader& keys) {
  if (keys.has("vocab_size")) return keys.dimension("vocab_size");
  const MetaValue* tokens = keys.metadata().find("tokenizer.ggml.tokens");
  if (tokens && tokens->length) return *tokens->length;
  keys.fail("vocab_size", "is missing, and so is tokenizer.ggml.tokens");
  return 1;
}

void read_heads(KeyReader& keys, Hyperparameters& hp) {
  const std::int64_t layers = hp.n_layer_all;
  hp.ff = keys.per_layer("feed_forward_length", layers, 0);
  hp.head = keys.per_layer("attention.head_count", layers, 0);
  hp.head_kv = keys.has("attention.head_count_kv")
                   ? keys.per_layer("attention.head_count_kv", layers, 0)
                   : hp.head;
  hp.ff_exp.assign(static_cast<std::size_t>(layers), 0);
  if (hp.n_head() == 0) return;
  hp.head_k = keys.dimension("attention.key_length", hp.n_embd / hp.n_head());
  hp.head_v = keys.dimension("attention.value_length", hp.n_embd / hp.n_head());
  hp.n_rot = keys.count("rope.dimension_count", hp.head_k);
}

void read_experts(KeyReader& keys, Hyperparameters& hp) {
  hp.n_expert = keys.count("expert_count", 0);
  hp.n_expert_used = keys.per_layer("expert_used_count", hp.n_layer_all, 0).front();
  hp.n_expert_groups = keys.count("expert_group_count", 0);
  hp.n_group_used = keys.count("expert_group_used_count", 0);
  if (hp.n_expert > kMostExperts) keys.fail("expert_count", "is more than llama.cpp takes");
  if (hp.n_expert_used > hp.n_expert)
    keys.fail("expert_used_count", "is more than there are experts");
  if (hp.n_expert > 0 && hp.n_expert_used == 0)
    keys.fail("expert_used_count", "is missing although there are experts");
}

}  // namespace

std::int64_t Hyperparameters::v_gqa_max() const {
  std::int64_t most = 0;
  for (std::int64_t il = 0; il < n_layer_all; ++il) most = std::max(most, v_gqa(il));
  return most;
}

std::int64_t Hyperparameters::n_embd_r() const {
  if (wkv_head != 0) return token_shifts * n_embd;
  if (n_shortconv != 0) return n_embd * (n_shortconv - 1);
  if (kda_head != 0) return 3 * (ssm_conv - 1) * n_head() * kda_head;
  return (ssm_conv > 0 ? ssm_conv - 1 : 0) * (ssm_inner + 2 * ssm_groups * ssm_state);
}

std::int64_t Hyperparameters::n_embd_s() const {
  if (wkv_head != 0) return n_embd * wkv_head;
  return kda_head != 0 ? kda_head * kda_head * n_head() : ssm_state * ssm_inner;
}

void Hyperparameters::read_swa_pattern(KeyReader& keys, std::int64_t period, bool dense_first) {
  constexpr const char* kKey = "attention.sliding_window_pattern";
  if (const auto pattern = keys.array(kKey); !pattern.empty()) {
    for (std::size_t i = 0; i < swa_layer.size(); ++i)
      swa_layer[i] = i < pattern.size() && pattern[i] != 0;
    return;
  }
  period = keys.count(kKey, period);
  for (std::int64_t il = 0; il < n_layer(); ++il) {
    const bool full = period != 0 && il % period == (dense_first ? 0 : period - 1);
    swa_layer[static_cast<std::size_t>(il)] = !full;
  }
}

Hyperparameters read_common(KeyReader& keys, std::string arch) {
  Hyperparameters hp;
  hp.arch = std::move(arch);
  hp.n_vocab = vocabulary(keys);
  hp.n_ctx_train = keys.dimension("context_length");
  hp.n_embd = keys.dimension("embedding_length");
  hp.n_layer_all = keys.dimension("block_count");
  if (hp.n_layer_all > kMostLayers) {
    keys.fail("block_count", "is more than llama.cpp takes");
    hp.n_layer_all = 1;
  }
  hp.n_layer_nextn = keys.count("nextn_predict_layers", 0);
  if (hp.n_layer_nextn >= hp.n_layer_all && hp.n_layer_nextn > 0) {
    keys.fail("nextn_predict_layers", "leaves no layer");
    hp.n_layer_nextn = 0;
  }
  hp.pooling = keys.count("pooling_type", 0);
  if (hp.pooling > static_cast<std::int64_t>(4)) keys.fail("pooling_type", "is not known");
  hp.swa_layer.assign(static_cast<std::size_t>(hp.n_layer_all), false);
  hp.recurrent.assign(static_cast<std::size_t>(hp.n_layer_all), false);
  read_experts(keys, hp);
  read_heads(keys, hp);
  hp.n_ctx_orig = keys.count("rope.scaling.original_context_length", hp.n_ctx_train);
  hp.longrope = keys.text("rope.scaling.type", "") == "longrope";
  hp.causal = keys.flag("attention.causal", true);
  return hp;
}

}  // namespace memtape::llamacpp
