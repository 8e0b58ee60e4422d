// SPDX-License-Identifier: Apache-2.0
// torchtitan's own decoders: models/llama3/model/model.py and models/qwen3/model/model.py. The
// rotary embedding of llama3 is a complex product in float32; keys and values are repeated for each
// query head before attention.
//
// Sizes are read off a transformers configuration of the same model, which is what
// torchtitan's flavors describe (model/args.py).
#pragma once

#include <deque>
#include <memory>
#include <optional>

#include "family/decoder_config.h"
#include "family/pretrained.h"
#include "family/stage_parts.h"
#include "framework/torch/inductor/graph.h"
#include "framework/torchtitan/job_config.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "nn/layers.h"

namespace memtape::torchtitan {

using ghost::Dims;
using ghost::In;
using ghost::Tensor;

enum class Rope { complex, cos_sin };
/// models/norms.py's RMSNorm; nn.RMSNorm as PyTorch made it of simple ops; as one kernel.
enum class NormKind { own, composite, fused };

struct ModelArgs {
  std::int64_t dim, n_layers, n_heads, n_kv_heads, head_dim, hidden_dim, vocab_size;
  std::int64_t max_seq_len;
  Rope rope = Rope::complex;
  bool qk_norm = false, tied = false;
  NormKind norm = NormKind::fused;
  bool grouped_attention = false;  ///< no repeat_kv: attention's kernel takes groups of heads
  bool float_in_model = false;     ///< output(h).float()
  ActivationCheckpoint activation_checkpoint = ActivationCheckpoint::none;
  std::int64_t checkpoint_every = 1;
  ghost::Recompute recompute = ghost::Recompute::stops_early;
  /// The part of the model that a pipeline's stage has; none: all of it.
  std::optional<family::StageRange> part = std::nullopt;
  /// Blocks of the rank's earlier parts, which the count of every nth checkpointed layer goes on
  /// from (_layer_sac_count).
  std::int64_t blocks_before = 0;

  family::StageRange range() const {
    return part.value_or(family::StageRange{0, n_layers, true, true});
  }
};

/// Of a configuration whose model_type torchtitan has a model for.
Result<ModelArgs> read_model_args(const Config& config, const TrainRecipe& recipe,
                                  const JobConfig& job);

class Norm : public nn::Module<Norm> {
 public:
  Norm(const nn::Scope& scope, std::int64_t width, NormKind kind);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_;
  NormKind kind_;
};

class Attention : public nn::Module<Attention> {
 public:
  Attention(const nn::Scope& scope, const ModelArgs& args);
  Tensor forward(const Tensor& x, const Tensor& freqs_cis);

 private:
  std::int64_t n_rep_, head_dim_, n_kv_heads_;
  bool grouped_;
  Rope rope_;
  nn::Linear wq_, wk_, wv_, wo_;
  std::optional<Norm> q_norm_, k_norm_;
};

class FeedForward : public nn::Module<FeedForward> {
 public:
  FeedForward(const nn::Scope& scope, const ModelArgs& args);
  Tensor forward(const Tensor& x);

 private:
  nn::Linear w1_, w2_, w3_;
};

class TransformerBlock : public nn::Module<TransformerBlock> {
 public:
  TransformerBlock(const nn::Scope& scope, const ModelArgs& args, std::int64_t layer);
  Tensor forward(const Tensor& x, const Tensor& freqs_cis);
  /// torch.compile(block), whose layers `tp` GPUs share.
  void compile(std::int64_t tp) { compiled_for_ = tp; }

 private:
  Tensor body(const Tensor& x, const Tensor& freqs_cis);
  Tensor run_compiled(const Tensor& x);

  const ModelArgs args_;
  std::optional<std::int64_t> compiled_for_;
  std::shared_ptr<const torch::inductor::Graph> graph_;
  Attention attention_;
  FeedForward feed_forward_;
  Norm attention_norm_, ffn_norm_;
  ActivationCheckpoint checkpoint_;
};

class Transformer final : public family::PretrainedModel {
 public:
  Transformer(const ModelArgs& args, const family::ModelOptions& options);

  family::ModelOutput forward(const family::Batch& batch) override;
  /// A part of the model: from tokens or hidden states to hidden states or logits.
  Tensor run(const Tensor& input);
  nn::Projection* head() override { return output_ ? &*output_ : nullptr; }
  std::string_view output_embeddings() const override { return "output"; }
  std::deque<TransformerBlock>& layers() { return layers_; }
  /// init_weights: the table of rotations is computed on the device.
  void init_weights();

  Tensor freqs_cis;

 private:
  ModelArgs args_;
  std::optional<nn::Embedding> tok_embeddings_;
  std::deque<TransformerBlock> layers_;
  std::optional<Norm> norm_;
  std::optional<nn::Linear> output_;
};

}  // namespace memtape::torchtitan
