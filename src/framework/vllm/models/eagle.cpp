// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/eagle.h"

#include <algorithm>
#include <deque>
#include <optional>

#include "framework/vllm/layers/attention.h"
#include "framework/vllm/layers/mlp.h"
#include "framework/vllm/models/dense.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// llama.py's LlamaDecoderLayer as both heads use it.
class HeadLayer : public nn::Module<HeadLayer> {
 public:
  /// `joins`: EAGLE-3's first layer, which reads the embeddings beside the hidden states.
  HeadLayer(const Place& place, bool is_third, bool is_first)
      : Module(place.scope()),
        is_third_(is_third),
        is_first_(is_first),
        hidden_(place.config().dimension("hidden_size")),
        attention_(place / "self_attn", hidden_, config_heads(place), attention_options(place)),
        mlp_(place / "mlp", hidden_, place.config().dimension("intermediate_size"),
             {.bias = place.config().boolean("mlp_bias", false), .drops_projection = true}) {
    const bool is_identity = is_first && !is_third;
    if (is_identity)
      kernel_output("input_layernorm", {hidden_}, place.runtime().dtype());  // made, then deleted
    else
      input_norm_.emplace(place / "input_layernorm", hidden_);
    post_norm_.emplace(place / "post_attention_layernorm", hidden_);
    if (!is_third) return;
    if (is_first) attention_.widen_input(place / "self_attn", 2 * hidden_, biased(place));
    hidden_norm_.emplace(place / "hidden_norm", hidden_);
  }

  Stream run(const Tensor& embedded, const Stream& input) {
    const ghost::ScopeGuard guard(node().scope);
    Stream s = input;
    if (is_third_ && is_first_) return joined(embedded, s.hidden);
    if (input_norm_)
      s = input_norm_->start_or_add(s.hidden, s.residual);
    else
      s.residual = s.hidden;
    return after_norm(std::move(s));
  }

 private:
  static bool biased(const Place& place) { return place.config().boolean("attention_bias", false); }
  static AttentionBlockOptions attention_options(const Place& place) {
    const bool bias = place.config().boolean({"attention_bias", "bias"}, false);
    return {.qkv_bias = bias, .output_bias = bias};
  }

  Stream joined(const Tensor& embedded, const Tensor& hidden) {
    const Tensor normed_embeds = (*input_norm_)(embedded);
    Stream s{(*hidden_norm_)(hidden), hidden};
    s.hidden = kernel_output("cat", hidden.sizes().leading().with(2 * hidden_), hidden.dtype());
    return after_norm(std::move(s));
  }
  Stream after_norm(Stream s) {
    s.hidden = attention_(s.hidden);
    s = post_norm_->add(s.hidden, s.residual);
    s.hidden = mlp_(s.hidden);
    return s;
  }

  bool is_third_, is_first_;
  std::int64_t hidden_;
  AttentionBlock attention_;
  GatedMlp mlp_;
  std::optional<RMSNorm> input_norm_, post_norm_, hidden_norm_;
};

class EagleHead : public Drafter {
 public:
  EagleHead(const Place& place, bool is_third)
      : runtime_(place.runtime()),
        hidden_(place.config().dimension("hidden_size")),
        embed_tokens_(place / "model" / "embed_tokens", place.config().dimension("vocab_size"),
                      hidden_) {
    const std::int64_t layers = place.config().layers("num_hidden_layers");
    for (std::int64_t i = 0; i < layers; ++i)
      layers_.emplace_back(place / "model" / "layers" / i, is_third, i == 0);
  }

  /// maybe_share_target_embed: left where the stages lie apart.
  void share_tables(ServedModel& target) override {
    if (runtime_.parallel().pp == 1 && target.embedding_table().defined())
      embed_tokens_.share(target.embedding_table());
  }

 protected:
  Linear projection(const Place& place, std::int64_t in) const {
    return {place / "model" / "fc", in, {hidden_}, {.cut = Cut::replicated}};
  }

  Runtime& runtime_;
  std::int64_t hidden_;
  VocabParallelEmbedding embed_tokens_;
  std::deque<HeadLayer> layers_;
};

class Eagle final : public EagleHead {
 public:
  explicit Eagle(const Place& place)
      : EagleHead(place, false), fc_(projection(place, 2 * hidden_)) {}

  Drafted forward(const Tensor& input_ids, const Tensor& hidden) override {
    const Tensor embedded = embed_tokens_(input_ids);
    Stream s;
    {
      const Tensor joined =
          kernel_output("cat", hidden.sizes().leading().with(2 * hidden_), hidden.dtype());
      s.hidden = fc_(joined);
    }
    for (HeadLayer& layer : layers_) s = layer.run(embedded, s);
    s.hidden = s.hidden.add(s.residual);
    return {s.hidden, s.hidden};
  }

  /// Through the target's head.
  Tensor compute_logits(const Tensor& hidden) override { return target_->compute_logits(hidden); }
  void share_tables(ServedModel& target) override {
    EagleHead::share_tables(target);
    target_ = &target;
  }

 private:
  Linear fc_;
  ServedModel* target_ = nullptr;
};

class Eagle3 final : public EagleHead {
 public:
  explicit Eagle3(const Place& place) : EagleHead(place, true) {
    const Config& c = place.config();
    const Config own = c.object("eagle_config");
    vocabulary_ = c.dimension("vocab_size");
    proposed_ = c.optional_dimension("draft_vocab_size").value_or(vocabulary_);
    const std::int64_t target_width = c.optional_dimension("target_hidden_size").value_or(hidden_);
    reads_layers_ = own.boolean("use_aux_hidden_state", true);
    if (reads_layers_) {
      inputs_ = c.optional_dimension("num_aux_hidden_states").value_or(inputs_of(own));
      const std::int64_t width = target_width * inputs_;
      if (own.boolean("norm_before_fc", c.boolean("norm_before_fc", false)))
        input_norm_.emplace(place / "model" / "input_norm", width);
      for (std::int64_t i = 0; c.boolean("fc_norm", false) && i < inputs_; ++i)
        fc_norms_.emplace_back(place / "model" / "fc_norm" / i, target_width);
      fc_.emplace(place / "model" / "fc", width, std::vector<std::int64_t>{hidden_},
                  LinearOptions{.cut = Cut::replicated});
    }
    norm_.emplace(place / "model" / "norm", hidden_);
    head_.emplace(place / "lm_head", proposed_, hidden_);
    if (proposed_ != target_vocabulary(place))
      place.parameter("draft_id_to_target_id", {proposed_}, DType::int64);
  }

  Tensor combined(const std::vector<Tensor>& states) override {
    if (!reads_layers_ || states.empty()) return {};
    Tensor wide = joined(states.front().sizes(), std::ssize(states), states.front());
    if (input_norm_) wide = (*input_norm_)(wide);
    if (!fc_norms_.empty()) {
      std::vector<Tensor> normed;
      for (std::size_t i = 0; i < fc_norms_.size(); ++i)
        normed.push_back(fc_norms_[i](states[std::min(i, states.size() - 1)]));
      wide = joined(states.front().sizes(), std::ssize(states), states.front());
    }
    return (*fc_)(wide);
  }

  Drafted forward(const Tensor& input_ids, const Tensor& hidden) override {
    const Tensor embedded = embed_tokens_(input_ids);
    Stream s{hidden, {}};
    for (HeadLayer& layer : layers_) s = layer.run(embedded, s);
    s = norm_->add(s.hidden, s.residual);
    return {s.hidden, s.residual};
  }

  /// The chosen tokens' logits, put in their places among those of all.
  Tensor compute_logits(const Tensor& hidden) override {
    const Tensor logits = head_->logits(hidden, false);
    if (proposed_ == vocabulary_) return logits;
    const Tensor base = kernel_output("arange", {proposed_}, DType::int64);
    const Tensor targets = kernel_output("add", {proposed_}, DType::int64);
    return kernel_output("full", {hidden.size(0), vocabulary_}, logits.dtype());
  }

 private:
  static std::int64_t inputs_of(const Config& own) {
    const auto given = std::ssize(own.integers("eagle_aux_hidden_state_layer_ids"));
    return given > 0 ? given : 3;
  }
  static std::int64_t target_vocabulary(const Place& place) {
    return place.runtime().config.dimension({"vocab_size", "padded_vocab_size"});
  }
  static Tensor joined(const Dims& each, std::int64_t count, const Tensor& like) {
    return kernel_output("cat", each.leading().with(count * like.size(1)), like.dtype());
  }

  std::int64_t vocabulary_ = 0, proposed_ = 0, inputs_ = 0;
  bool reads_layers_ = true;
  std::optional<RMSNorm> input_norm_, norm_;
  std::deque<RMSNorm> fc_norms_;
  std::optional<Linear> fc_;
  std::optional<ParallelLMHead> head_;
};

}  // namespace

std::vector<std::int64_t> eagle3_target_layers(const Config& head, std::int64_t target_layers) {
  std::vector<std::int64_t> layers = head.integers("eagle_aux_hidden_state_layer_ids");
  if (layers.empty()) layers = head.object("eagle_config").integers("layer_ids");
  if (layers.empty()) layers = {2, target_layers / 2, target_layers - 3};
  std::ranges::sort(layers);
  const auto again = std::ranges::unique(layers);
  layers.erase(again.begin(), again.end());
  return layers;
}

std::unique_ptr<Drafter> make_eagle(const Place& place) { return std::make_unique<Eagle>(place); }
std::unique_ptr<Drafter> make_eagle3(const Place& place) { return std::make_unique<Eagle3>(place); }

Result<DrafterFactory> eagle_factory(const Config& head, bool third) {
  const std::vector<std::string> names = head.texts("architectures");
  const std::string name = names.empty() ? "" : names.front();
  if (name.find("Llama") == std::string::npos || name.find("Llama4") != std::string::npos)
    return unsupported(
        "an EAGLE head of " + (name.empty() ? "no architecture" : name) + " is not modelled",
        head.where(), "one of Llama's layers");
  return third ? make_eagle3 : make_eagle;
}

}  // namespace memtape::vllm
