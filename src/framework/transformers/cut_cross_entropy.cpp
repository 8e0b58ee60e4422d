// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/cut_cross_entropy.h"

#include <utility>

#include "ghost/autograd/function.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "model/type_of.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

using ghost::Gradients;
using ghost::Op;
using ghost::Tensor;

constexpr std::int64_t kRowsPerLock = 128, kColumnsPerLock = 64;

/// sort_logit_avg: argsort, and the places as int32.
Tensor sorted_vocabulary(const Tensor& logit_avg) {
  const ghost::ValuesAndIndices sorted = ghost::sort(logit_avg);
  return sorted.second.to(DType::int32);
}

/// Those of a gradient's blocks.
Tensor locks(std::int64_t rows, std::int64_t columns) {
  return ghost::zeros({ceil_div(rows, kRowsPerLock), ceil_div(columns, kColumnsPerLock)},
                      DType::int32);
}

struct CutLossBackward final : ghost::Node {
  CutLossBackward() : Node("LinearCrossEntropyFunctionBackward") {}
  void apply(Gradients&, Gradients& out) override {
    const Tensor e = hidden.unpack(), c = weight.unpack(), lse = lse_.unpack();
    const Tensor vocab_ordering = sorted_vocabulary(logit_avg.unpack());
    const bool wants_e = wants(0), wants_c = wants(1);
    const Tensor de = wants_e ? ghost::zeros_like(e) : Tensor();
    const Tensor dc = wants_c ? ghost::zeros_like(c) : Tensor();
    const Tensor de_locks = wants_e ? locks(lse.size(0), c.size(1)) : Tensor();
    const Tensor dc_locks = wants_c ? locks(c.size(0), c.size(1)) : Tensor();
    out[0] = de;
    if (wants_c) out[1] = dc;
  }
  void release() override {
    for (ghost::Saved* saved : {&hidden, &weight, &lse_, &logit_avg}) saved->reset();
  }
  ghost::Saved hidden, weight, lse_, logit_avg;
  Tensor targets, valids;  ///< of ctx.params, which stay as long as the node
};

struct Operands {
  Tensor hidden, weight, targets, valids;
  bool softcaps = false;
};

/// LinearCrossEntropyFunction.apply: the sum of losses.
Tensor linear_cross_entropy(const Operands& given) {
  const auto node = ghost::function_node<CutLossBackward>({&given.hidden, &given.weight});
  const Op op("linear_cross_entropy", {});
  Tensor loss;
  {
    const ghost::GradMode no_grad(false);
    const std::int64_t scored = given.valids.size(0);
    const Tensor lse = ghost::zeros({scored}, DType::float32);
    Tensor logit_avg;
    {
      const Tensor row_locks = ghost::zeros({ceil_div(scored, kRowsPerLock)}, DType::int32);
      if (node) logit_avg = ghost::zeros({given.weight.size(0)}, DType::float32);
    }
    Tensor neg_dot = ghost::zeros({scored}, DType::float32);
    if (given.softcaps) neg_dot = ghost::empty_like(neg_dot, DType::float32);
    loss = ghost::sum_all(neg_dot);
    if (node) {
      node->hidden.keep(given.hidden);
      node->weight.keep(given.weight);
      node->lse_.keep(lse);
      node->targets = given.targets;
      node->valids = given.valids;
      node->logit_avg.keep(logit_avg);
    }
  }
  if (node) set_history(loss, node);
  return loss;
}

/// _build_flat_valids: the places of labels that count, as numbers of one row.
Tensor flat_valids(const Tensor& labels, std::int64_t scored) {
  const Tensor shifted = labels.slice(-1, 1, labels.size(-1));
  Tensor places = ghost::nonzero(ghost::ne(shifted, ghost::kIgnoreIndex), scored);
  places = places.to(DType::int32);
  const Op op("sum", {});
  return ghost::empty({scored}, DType::int64);
}

}  // namespace

family::ModelOutput cce_forward(family::PretrainedModel& model, const family::Batch& batch,
                                const CutCrossEntropy& loss) {
  if (!batch.labels.defined()) return model.forward(batch);
  const Tensor hidden_states = model.last_hidden_state(batch);
  const Tensor& weight = model.head()->weight;
  const bool takes_half = weight.dtype() == DType::bfloat16 || weight.dtype() == DType::float16;
  if (!takes_half)
    ghost::session().fail({ErrorKind::bad_input, "cut_cross_entropy refuses a head in float32",
                           "--cut_cross_entropy", "weights in bf16 or fp16"});
  const Tensor e = hidden_states.to(weight.dtype());
  const std::int64_t most = batch.labels.size(0) * (batch.labels.size(1) - 1);
  const Tensor valids = flat_valids(batch.labels, loss.scored.value_or(most));
  Tensor sum = linear_cross_entropy({.hidden = e.view({-1, e.size(-1)}),
                                     .weight = weight,
                                     .targets = batch.labels.view({-1}),
                                     .valids = valids,
                                     .softcaps = loss.softcaps});
  if (batch.num_items_in_batch.defined()) sum = sum.div(batch.num_items_in_batch);
  return {std::move(sum), {}};
}

Result<CutCrossEntropy> cut_cross_entropy_of(const Config& config, family::PretrainedModel& model) {
  const std::string type = type_of(config);
  const bool scales = config.number("logits_scaling", 1.0) != 1.0 || type.starts_with("cohere");
  if (model.head() && !scales)
    return CutCrossEntropy{.scored = {},
                           .softcaps = config.number("final_logit_softcapping", 0.0) != 0.0};
  return unsupported("Cut Cross Entropy for " + type + " is not modelled", "--cut_cross_entropy",
                     "leave it out");
}

}  // namespace memtape::transformers
