// SPDX-License-Identifier: Apache-2.0
// torchtitan's own decoders: model/model.py of models/llama3, qwen3, deepseek_v3 and llama4. Keys
// and values are repeated for each query head before attention.
//
// The sizes are read from a transformers configuration of the same model. torchtitan's flavors
// describe the same sizes (model/args.py).
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "family/parts/decoder_config.h"
#include "family/parts/stage_parts.h"
#include "family/pretrained.h"
#include "framework/torch/inductor/graph.h"
#include "framework/torchtitan/job_config.h"
#include "framework/torchtitan/latent_attention.h"
#include "framework/torchtitan/moe.h"
#include "framework/torchtitan/norm.h"
#include "framework/torchtitan/rotary.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/flex_attention.h"
#include "nn/layers.h"

namespace memtape::torchtitan {

using ghost::Dims;
using ghost::In;
using ghost::Tensor;

struct ModelArgs {
  std::int64_t dim, n_layers, n_heads, n_kv_heads, head_dim, hidden_dim, vocab_size;
  std::int64_t max_seq_len;
  Rope rope = Rope::complex;
  bool qk_norm = false, tied = false;
  NormKind norm = NormKind::fused;
  std::optional<LatentArgs> latent = std::nullopt;  ///< set if attention is that of deepseek_v3
  std::optional<MoeArgs> moe = std::nullopt;
  std::int64_t n_dense_layers = 0;  ///< the dense layers at the beginning of a mixture of experts
  std::int64_t mixture_every = 1;   ///< interleave_moe_layer_step
  bool keeps_all_to_all = false;    ///< selective checkpointing keeps what other ranks sent
  /// No repeat_kv, because the kernel of attention takes groups of heads.
  bool grouped_attention = false;
  bool uses_flex = false;       ///< attention is flex_attention's, under a mask by documents
  bool float_in_model = false;  ///< output(h).float()
  ActivationCheckpoint activation_checkpoint = ActivationCheckpoint::none;
  std::int64_t checkpoint_every = 1;
  ghost::Recompute recompute = ghost::Recompute::stops_early;
  /// The part of the model that a pipeline's stage has. If it is not set, the stage has the whole
  /// model.
  std::optional<family::StageRange> part = std::nullopt;
  /// The blocks in earlier parts of the rank. The count for checkpointing every nth layer continues
  /// from there (_layer_sac_count).
  std::int64_t blocks_before = 0;

  bool is_mixture(std::int64_t layer) const {
    return moe && layer >= n_dense_layers && (layer + 1) % mixture_every == 0;
  }
  family::StageRange range() const {
    return part.value_or(family::StageRange{0, n_layers, true, true});
  }
};

/// The configuration that describes the decoder. llama4 has it beside the configuration of its
/// vision tower.
Config decoder_config(const Config& config);

/// Reads a decoder_config. torchtitan must have a model for its model_type.
Result<ModelArgs> read_model_args(const Config& config, const TrainRecipe& recipe,
                                  const JobConfig& job);

/// The numbers of rows that parameters have, which decide how shards differ.
std::vector<std::int64_t> row_counts(const ModelArgs& args);

class Attention : public nn::Module<Attention> {
 public:
  Attention(const nn::Scope& scope, const ModelArgs& args);
  Tensor forward(const Tensor& x, const Tensor& freqs_cis);

 private:
  std::int64_t n_rep_, head_dim_, n_kv_heads_;
  bool grouped_, uses_flex_;
  Rope rope_;
  std::optional<Norm> q_norm_, k_norm_;
  nn::Linear wq_, wk_, wv_, wo_;
};

class TransformerBlock : public nn::Module<TransformerBlock> {
 public:
  TransformerBlock(const nn::Scope& scope, const ModelArgs& args, std::int64_t layer);
  Tensor forward(const Tensor& x, const Tensor& freqs_cis);
  /// It is null for a dense block.
  MoE* moe() { return moe_ ? &*moe_ : nullptr; }
  /// It is null for a block with other attention.
  LatentAttention* latent_attention() { return latent_attention_ ? &*latent_attention_ : nullptr; }
  /// torch.compile(block). `tp` GPUs share the layers of the block.
  void compile(std::int64_t tp) { compiled_for_ = tp; }

 private:
  void make_norms(const nn::Scope& scope);
  Tensor body(const Tensor& x, const Tensor& freqs_cis);
  Tensor body_by_parts(const Tensor& x, const Tensor& freqs_cis);
  Tensor run_compiled(const Tensor& x);

  const ModelArgs args_;
  std::optional<std::int64_t> compiled_for_;
  std::shared_ptr<const torch::inductor::Graph> graph_;
  std::optional<Attention> attention_;
  std::optional<LatentAttention> latent_attention_;
  std::optional<FeedForward> feed_forward_;
  std::optional<MoE> moe_;
  std::optional<Norm> attention_norm_, ffn_norm_;
  ActivationCheckpoint checkpoint_;
};

class Transformer final : public family::PretrainedModel {
 public:
  Transformer(const ModelArgs& args, const family::ModelOptions& options);

  family::ModelOutput forward(const family::Batch& batch) override;
  /// Runs a part of the model, from tokens or hidden states to hidden states or logits.
  Tensor run(const Tensor& input);
  nn::Projection* head() override { return output_ ? &*output_ : nullptr; }
  std::string_view output_embeddings() const override { return "output"; }
  std::deque<TransformerBlock>& layers() { return layers_; }
  /// enable_weight_tying: one table serves as embedding and output. parallelize_qwen3 ties them
  /// once all parallelism has been applied.
  const ModelArgs& args() const { return args_; }
  bool is_tied() const { return args_.tied && tok_embeddings_ && output_; }
  const Tensor& embedding_table() const { return tok_embeddings_->weight; }
  const Tensor& output_table() const { return output_->weight; }
  void tie() { nn::tie(*output_, tok_embeddings_->weight); }
  /// init_weights, which computes the table of rotations on the device.
  void init_weights();

  Tensor freqs_cis;

 private:
  ModelArgs args_;
  std::deque<ghost::BlockMask> masks_;  ///< create_attention_mask's lru_cache(4)
  std::optional<nn::Embedding> tok_embeddings_;
  std::deque<TransformerBlock> layers_;
  std::optional<Norm> norm_;
  std::optional<nn::Linear> output_;
};

}  // namespace memtape::torchtitan
