// SPDX-License-Identifier: Apache-2.0
#include "framework/litgpt/gpt.h"

#include <utility>

#include "framework/litgpt/chunked_cross_entropy.h"
#include "ghost/autocast.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"

namespace memtape::litgpt {
namespace {

using Outputs = torch::DrivenModel::Outputs;

/// tensor.to(dtype) of what a module holds: new memory in the place of the old.
void cast_buffer(nn::ModuleNode& node, std::size_t place, Tensor& tensor, DType dtype) {
  if (tensor.dtype() == dtype) return;
  tensor = tensor.to(dtype);
  ghost::session().set_category(tensor, Category::buffer);
  node.buffers[place].tensor = tensor;
}

/// idx_theta = torch.outer(seq_idx, theta).repeat(1, 2), the angles of every place.
Tensor angles(std::int64_t length, std::int64_t n_elem) {
  Tensor theta;
  {
    const Tensor steps = ghost::arange((n_elem + 1) / 2, DType::int64).to_float();
    theta = ghost::rdiv(1.0, ghost::pow(ghost::kBase, steps.div(2.0)));
  }
  const Tensor seq_idx = ghost::arange(length, DType::int64).to_float().div(1.0);
  const Tensor outer = seq_idx.unsqueeze(1).mul(theta.unsqueeze(0));
  return ghost::empty({length, n_elem}, DType::float32);
}

}  // namespace

Gpt::Gpt(const GptConfig& config, const Adapters& adapters, DType dtype, bool autocasts)
    : PretrainedModel({.dtype = dtype}),
      config_(config),
      parts_{config_, adapters},
      autocasts_(autocasts),
      lm_head_(root() / "lm_head",
               {config_.n_embd, config_.padded_vocab_size, config_.lm_head_bias}, adapters,
               adapters.lora && adapters.lora->head),
      transformer_(root() / "transformer"),
      wte_(transformer_ / "wte", config_.padded_vocab_size, config_.n_embd),
      h_(transformer_ / "h", config_.n_layer, parts_),
      ln_f_(transformer_ / "ln_f", config_, config_.n_embd) {
  make_rope(config_.block_size);
}

/// rope_cache(): float32 whatever the model's dtype.
void Gpt::make_rope(std::int64_t length) {
  const Tensor idx_theta = angles(length, config_.rope_n_elem);
  Tensor cos = ghost::cos(idx_theta).mul(ghost::kScale);
  Tensor sin = ghost::sin(idx_theta).mul(ghost::kScale);
  rope_ = {std::move(cos), std::move(sin)};
  tree.root().buffers.clear();
  root().buffer("cos", rope_.cos);
  root().buffer("sin", rope_.sin);
}

void Gpt::set_up(DType dtype) {
  cast_buffer(tree.root(), 0, rope_.cos, dtype);
  cast_buffer(tree.root(), 1, rope_.sin, dtype);
}

void Gpt::set_max_seq_length(std::int64_t length) {
  if (length != rope_.cos.size(0)) make_rope(length);
}

void Gpt::stabilize_embedding() {
  ghost::TensorImpl& weight = wte_.weight.impl();
  {
    const ghost::GradMode no_grad(false);
    old_embedding_ = wte_.weight.view(wte_.weight.sizes());
  }
  const Tensor fresh = ghost::empty(wte_.weight.sizes(), wte_.weight.dtype(), Category::parameter);
  weight.storage = fresh.impl().storage;
  weight.requires_grad = true;
  wte_norm_ = std::make_unique<nn::LayerNorm>(transformer_ / "wte.norm", config_.n_embd);
}

Tensor Gpt::hidden_states(const Tensor& input_ids) {
  const std::int64_t length = input_ids.size(1);
  const Rope rope{rope_.cos.slice(0, 0, length).unsqueeze(0),
                  rope_.sin.slice(0, 0, length).unsqueeze(0)};
  Tensor x = wte_(input_ids);
  if (wte_norm_) x = (*wte_norm_)(x);
  if (config_.scale_embeddings) x = x.mul(ghost::kScale);
  const bool has_prompts = parts_.adapters.llama != LlamaAdapter::none;
  const auto kind = [&](std::size_t i) {
    const bool slides = !config_.slides.empty() && config_.slides[i];
    return std::pair(slides, has_prompts && std::cmp_greater_equal(i, kAdapterStartLayer));
  };
  x = nn::run_layers(h_, std::move(x), nn::layer_period(h_.size(), kind),
                     [&](Block& block, std::size_t, const Tensor& in) { return block(in, rope); });
  return ln_f_(x);
}

Tensor Gpt::head_of(const Tensor& x) {
  Tensor logits = lm_head_(x);
  return config_.final_softcaps ? do_softcapping(logits) : logits;
}

void Gpt::call(const std::function<Outputs()>& module) {
  wrapper_ ? wrapper_->call(module) : void(module());
}

/// convert_output: what the model gives as float32, one tensor after the other.
Tensor Gpt::whole_logits(const Tensor& input_ids) {
  Tensor output;
  call([&]() -> Outputs {
    const ghost::AutocastContext forward_context(autocasts_, DType::bfloat16);
    output = head_of(hidden_states(input_ids));
    return {&output};
  });
  return output.to_float();
}

std::vector<Tensor> Gpt::chunked_logits(const Tensor& input_ids) {
  std::vector<Tensor> output, converted;
  call([&] {
    const ghost::AutocastContext forward_context(autocasts_, DType::bfloat16);
    const Tensor x = hidden_states(input_ids);
    for (const Tensor& x_i : x.split(chunk_sizes(x.size(1)), 1)) output.push_back(head_of(x_i));
    Outputs outputs;
    for (Tensor& chunk : output) outputs.push_back(&chunk);
    return outputs;
  });
  for (const Tensor& chunk : output) converted.push_back(chunk.to_float());
  return converted;
}

family::ModelOutput Gpt::forward(const family::Batch& batch) {
  const Tensor targets = batch.labels.slice(-1, 1, batch.labels.size(-1));
  if (!parts_.adapters.lora && parts_.adapters.llama == LlamaAdapter::none) {
    const Tensor logits = whole_logits(batch.input_ids);
    logits_ = {logits};
    return {.loss = chunked_cross_entropy(logits.slice(-2, 0, -1), targets), .logits = {}};
  }
  logits_ = chunked_logits(batch.input_ids);
  logits_.back() = logits_.back().slice(-2, 0, -1);
  return {.loss = chunked_cross_entropy(logits_, targets), .logits = {}};
}

void Gpt::validate(const ghost::Dims& batch_sizes) {
  const ghost::GradMode no_grad(false);
  ghost::session().training = false;
  Tensor input_ids, targets, logits;
  for (int k = 0; k < 2; ++k) {
    Tensor ids = ghost::zeros(batch_sizes, DType::int64, Category::input);
    targets = ghost::zeros(batch_sizes, DType::int64, Category::input);
    input_ids = std::move(ids);
    logits = whole_logits(input_ids);
    const Tensor rows = logits.slice(-2, 0, -1).reshape({-1, logits.size(-1)});
    const Tensor labels = targets.slice(-1, 1, targets.size(-1)).reshape({-1});
    const Tensor loss = ghost::cross_entropy(rows, labels);
  }
  ghost::session().training = true;
}

}  // namespace memtape::litgpt
