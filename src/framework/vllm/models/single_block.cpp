// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/single_block.h"

#include <deque>
#include <optional>

#include "framework/vllm/models/tied_head.h"
#include "framework/vllm/offload.h"

namespace memtape::vllm {
namespace {

/// A layer of one norm and one block (Mamba, Nemotron-H).
class SingleBlockLayer : public nn::Module<SingleBlockLayer> {
 public:
  using Make = std::function<Block(const Place&)>;
  SingleBlockLayer(const Place& place, const Make& make)
      : Module(place.scope()),
        mixer_(make(place / "mixer")),
        norm_(place / "norm", place.config().dimension("hidden_size")) {}

  Stream run(const Stream& input) {
    const ghost::ScopeGuard guard(node().scope);
    Stream s = norm_.start_or_add(input.hidden, input.residual);
    s.hidden = mixer_(s.hidden);
    return s;
  }

 private:
  Block mixer_;
  RMSNorm norm_;
};

class SingleBlockDecoder final : public ServedModel {
 public:
  SingleBlockDecoder(const Place& place, const SingleBlockNames& names, std::int64_t layers,
                     const MakeBlock& make)
      : runtime_(place.runtime()), hidden_(place.config().dimension("hidden_size")) {
    const Config& c = place.config();
    const std::int64_t vocabulary = c.dimension("vocab_size");
    const Place body = place / names.body;
    embedding_.emplace(body / names.embedding, vocabulary, hidden_);
    const StageLayers range = stage_layers(runtime_.parallel(), layers);
    for (std::int64_t i = range.first; i < range.last; ++i) {
      layers_.emplace_back(body / "layers" / i, [&](const Place& mixer) { return make(mixer, i); });
      offload_layers(body, "layers");
    }
    norm_.emplace(body / "norm_f", hidden_);
    head_.emplace(place / "lm_head", vocabulary, hidden_);
    if (ties_head(c)) head_->tie(embedding_->table());
  }

  Tensor forward(const Tensor& input_ids, const Stream& input) override {
    Stream s = input;
    if (runtime_.parallel().first_stage()) s = {(*embedding_)(input_ids), {}};
    for (SingleBlockLayer& layer : layers_) {
      Stream next = layer.run(s);
      s = std::move(next);
    }
    if (!runtime_.parallel().last_stage()) return s.hidden;
    return norm_->start_or_add(s.hidden, s.residual).hidden;
  }
  Tensor compute_logits(const Tensor& hidden_states) override {
    return head_->logits(hidden_states, false);
  }
  std::int64_t hidden_size() const override { return hidden_; }

 private:
  Runtime& runtime_;
  std::int64_t hidden_;
  std::optional<VocabParallelEmbedding> embedding_;
  std::deque<SingleBlockLayer> layers_;
  std::optional<RMSNorm> norm_;
  std::optional<ParallelLMHead> head_;
};

}  // namespace

DType state_dtype(const Place& place, std::string_view otherwise) {
  const Settings& s = place.settings();
  const std::string given =
      s.ssm_dtype.empty() || s.ssm_dtype == "auto" ? std::string(otherwise) : s.ssm_dtype;
  if (given == "float32") return DType::float32;
  if (given == "float16") return DType::float16;
  return given == "bfloat16" ? DType::bfloat16 : s.dtype;
}

MambaShape mamba2_shape(const Config& c, std::int64_t hidden) {
  MambaShape s;
  s.hidden = hidden;
  s.state = c.dimension({"ssm_state_size", "state_size"}, 128);
  s.kernel = c.dimension("conv_kernel", 4);
  s.conv_bias = c.boolean("use_conv_bias", true);
  s.bias = c.boolean("use_bias", false);
  s.groups = c.dimension("n_groups", 8);
  s.heads = c.dimension({"mamba_num_heads", "num_heads"}, 128);
  s.head_size = c.dimension({"mamba_head_dim", "head_dim"}, 64);
  s.chunk = c.dimension({"mamba_chunk_size", "chunk_size"}, 256);
  s.inner = s.heads * s.head_size;
  return s;
}

std::unique_ptr<ServedModel> make_single_block_decoder(const Place& place,
                                                       const SingleBlockNames& names,
                                                       std::int64_t layers, const MakeBlock& make) {
  return std::make_unique<SingleBlockDecoder>(place, names, layers, make);
}

}  // namespace memtape::vllm
