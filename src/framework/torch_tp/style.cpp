// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/style.h"

#include <utility>
#include <vector>

#include "framework/torch_tp/backward_hook.h"
#include "framework/torch_tp/shard_parameter.h"
#include "ghost/ops/embedding.h"
#include "ghost/session.h"
#include "nn/layers.h"

namespace memtape::torch_tp {
namespace {

constexpr Placement kLast = shard_of(-1);

/// The hooks of one module.
class Boundary final : public nn::ForwardHooks {
 public:
  Boundary(const Style& style, const Mesh& mesh, std::int64_t out_features)
      : style_(style), mesh_(mesh), out_features_(out_features) {}

  void before_forward(Tensor& input) override {
    switch (style_.kind) {
      case Style::Kind::colwise: prepare_colwise(input); break;
      case Style::Kind::rowwise: prepare_rowwise(input); break;
      case Style::Kind::sequence: input = from_local(input, mesh_, false); break;
      case Style::Kind::whole:
        if (!style_.input_is_distributed) input = from_local(input, mesh_, false);
        break;
      case Style::Kind::prepare_input: input = gathered(input, true); return;
      case Style::Kind::prepare_input_output: input = to_local(gathered(input, false)); return;
      case Style::Kind::summed_gradient: input = to_local(from_local(input, mesh_, true)); return;
      case Style::Kind::backward_hook: return;
    }
    ghost::session().wraps_tensors = true;
  }

  void after_forward(Tensor& output) override {
    if (style_.kind == Style::Kind::prepare_input || style_.kind == Style::Kind::summed_gradient)
      return;
    if (style_.kind == Style::Kind::prepare_input_output) output = from_local(output, mesh_, false);
    if (style_.kind == Style::Kind::colwise && !(style_.output == kLast))
      output = redistribute(
          output, {.mesh = mesh_, .from = kLast, .to = style_.output, .whole = out_features_});
    if (style_.kind == Style::Kind::rowwise || style_.kind == Style::Kind::prepare_input_output)
      output = redistribute(output, {.mesh = mesh_,
                                     .from = kPartial,
                                     .to = style_.output,
                                     .whole = output.size(1),
                                     .async = style_.async});
    ghost::session().wraps_tensors = false;
    if (style_.use_local_output) output = to_local(output);
  }

 private:
  /// From pieces to the whole; the gradient comes back as summands, or whole.
  Tensor gathered(const Tensor& input, bool gradient_is_partial) const {
    return redistribute(input, {.mesh = mesh_,
                                .from = style_.input,
                                .to = kReplicate,
                                .whole = input.size(style_.input.dim) * mesh_.size,
                                .gradient_is_partial = gradient_is_partial,
                                .async = style_.async});
  }

  void prepare_colwise(Tensor& input) const {
    if (!style_.input_is_distributed) input = from_local(input, mesh_, style_.input.is_replicate());
    if (style_.input.is_shard()) input = gathered(input, true);
  }

  void prepare_rowwise(Tensor& input) const {
    if (!input.is_floating_point()) return;  // indices
    input = from_local(input, mesh_, false);
    if (style_.input.is_replicate())
      input = redistribute(
          input, {.mesh = mesh_, .from = kReplicate, .to = kLast, .whole = input.size(-1)});
  }

  Style style_;
  Mesh mesh_;
  std::int64_t out_features_;
};

/// nn.Embedding over rows of its table.
class ShardedEmbedding final : public nn::ForwardPatch {
 public:
  ShardedEmbedding(const nn::Embedding& embedding, std::int64_t rows)
      : embedding_(embedding), rows_(rows) {}
  Tensor forward(const Tensor& indices) override {
    return ghost::embedding_of_shard(embedding_.weight, indices, rows_);
  }

 private:
  const nn::Embedding& embedding_;
  std::int64_t rows_;
};

void shard_linear(nn::Projection& linear, const Style& style, const Mesh& mesh,
                  std::vector<Tensor>& distributed) {
  const int dim = style.kind == Style::Kind::colwise ? 0 : 1;
  nn::replace_weight(linear, shard_parameter(linear.weight, mesh, dim, style.scatters));
  distributed.push_back(linear.weight);
  if (!linear.bias.defined()) return;
  if (dim == 0) nn::replace_bias(linear, shard_parameter(linear.bias, mesh, 0, style.scatters));
  distributed.push_back(linear.bias);
}

void shard_embedding(nn::ModuleNode& node, const Style& style, const Mesh& mesh,
                     std::vector<Tensor>& distributed) {
  nn::Embedding& embedding = *node.embedding;
  node.patch = std::make_unique<ShardedEmbedding>(embedding, embedding.weight.size(0));
  nn::tie(embedding, shard_parameter(embedding.weight, mesh, 0, style.scatters));
  distributed.push_back(embedding.weight);
}

}  // namespace

std::unique_ptr<nn::ForwardHooks> apply_style(nn::ModuleNode& node, const Style& style,
                                              const Mesh& mesh, std::vector<Tensor>& distributed) {
  std::int64_t out_features = 0;
  if (style.kind == Style::Kind::sequence || style.kind == Style::Kind::whole) {
    for (const nn::ModuleNode::Named& parameter : node.parameters)
      distributed.push_back(parameter.tensor);
  } else if (node.projection) {
    out_features = node.projection->out_features;
    shard_linear(*node.projection, style, mesh, distributed);
  } else if (node.embedding) {
    shard_embedding(node, style, mesh, distributed);
  }
  std::unique_ptr<nn::ForwardHooks> hooks;
  if (style.kind == Style::Kind::backward_hook)
    hooks = std::make_unique<BackwardHook>();
  else
    hooks = std::make_unique<Boundary>(style, mesh, out_features);
  node.hooks.push_back(hooks.get());
  return hooks;
}

}  // namespace memtape::torch_tp
