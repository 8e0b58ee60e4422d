// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/trl/dpo_losses.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"

namespace memtape::transformers::trl {
namespace {

using ghost::Tensor;
using Locals = std::vector<Tensor>;

constexpr double kBeta = 0.1, kNumber = 0.5;  // no size depends on the numbers

Tensor kept(Tensor x, Locals& locals) {
  locals.push_back(x);
  return x;
}

Tensor log_sigmoid_of(const Tensor& x) { return ghost::log_sigmoid(x.mul(kBeta)); }
Tensor sigmoid_of(const Tensor& x) { return ghost::sigmoid(x.mul(kBeta)); }

struct SortBackward0 final : ghost::Node {
  SortBackward0() : Node("SortBackward0") {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor kept_indices = indices.unpack();
    if (wants(0)) out[0] = ghost::zeros(kept_indices.sizes(), in[0].dtype());
  }
  void release() override { indices.reset(); }
  ghost::Saved indices;
};

/// torch.sort(x, dim=0)[0]
Tensor sorted(const Tensor& x) {
  const ghost::In operand(x);
  ghost::Op op("sort", {&operand});
  ghost::Ptr<SortBackward0> node;
  if (op.differentiable()) node = op.node<SortBackward0>({&x});
  ghost::ValuesAndIndices made;
  {
    const ghost::GradMode no_grad(false);
    made = ghost::sort(x);
  }
  if (node) {
    node->indices.keep(made.second);
    set_history(made.first, node);
  }
  return made.first;
}

/// scores / mask.sum(dim=1).clamp(min=1.0)
Tensor averaged(const Tensor& scores, const Tensor& mask) {
  return scores.div(ghost::clamp(mask.sum(1).to_float(), {.min = 1}));
}

Tensor average_delta(const DpoTerms& t, Locals& locals) {
  const Tensor chosen = kept(averaged(t.scores.chosen, t.completion_masks.chosen), locals);
  const Tensor rejected = kept(averaged(t.scores.rejected, t.completion_masks.rejected), locals);
  return kept(chosen.sub(rejected), locals);
}

/// -logsigmoid(x) * a - logsigmoid(-x) * b
Tensor smoothed(const Tensor& delta) {
  return log_sigmoid_of(delta).neg().mul(kNumber).sub(log_sigmoid_of(delta).mul(kNumber));
}

Tensor exo_pair(const DpoTerms& t, Locals& locals) {
  const Tensor epsilon = kept(ghost::full({}, DType::float32), locals);
  const Tensor qw = kept(sigmoid_of(t.delta_score), locals);
  const Tensor log_qw = kept(log_sigmoid_of(t.delta_score), locals);
  const Tensor log_pw = kept(ghost::log1p(epsilon.neg()), locals);
  const Tensor ql = kept(sigmoid_of(t.delta_score), locals);
  const Tensor log_ql = kept(log_sigmoid_of(t.delta_score), locals);
  const Tensor log_pl = kept(ghost::log(epsilon), locals);
  return qw.mul(log_qw.sub(log_pw)).add(ql.mul(log_ql.sub(log_pl)));
}

Tensor nca_pair(const DpoTerms& t, Locals& locals) {
  const Tensor chosen = kept(t.logratios.chosen.mul(kBeta), locals);
  const Tensor rejected = kept(t.logratios.rejected.mul(kBeta), locals);
  const Tensor first =
      ghost::log_sigmoid(chosen).neg().sub(ghost::log_sigmoid(chosen.neg()).mul(kNumber));
  return first.sub(ghost::log_sigmoid(rejected.neg()).mul(kNumber));
}

Tensor robust(const DpoTerms& t, Locals& locals) {
  const Tensor clean = kept(log_sigmoid_of(t.delta_score).mul(kNumber), locals);
  const Tensor flipped = kept(log_sigmoid_of(t.delta_score).mul(kNumber), locals);
  return clean.sub(flipped).div(kNumber);
}

Tensor bco_pair(const DpoTerms& t, Locals& locals) {
  const Tensor chosen = kept(t.logratios.chosen.mul(kBeta), locals);
  const Tensor rejected = kept(t.logratios.rejected.mul(kBeta), locals);
  return ghost::log_sigmoid(chosen).neg().sub(ghost::log_sigmoid(rejected.neg()));
}

Tensor sppo_hard(const DpoTerms& t, Locals& locals) {
  const Tensor winner = kept(t.logratios.chosen.add(-5.0).pow(2), locals);
  const Tensor loser = kept(t.logratios.rejected.add(5.0).pow(2), locals);
  return winner.add(loser);
}

Tensor aot(const DpoTerms& t, Locals& locals) {
  const Tensor logratios = kept(t.logps.chosen.sub(t.logps.rejected), locals);
  const Tensor ref_logratios = kept(t.reference.chosen.sub(t.reference.rejected), locals);
  const Tensor first = kept(sorted(logratios), locals);
  return smoothed(kept(first.sub(kept(sorted(ref_logratios), locals)), locals));
}

Tensor aot_unpaired(const DpoTerms& t, Locals& locals) {
  const Tensor first = kept(sorted(t.logratios.chosen), locals);
  return smoothed(kept(first.sub(kept(sorted(t.logratios.rejected), locals)), locals));
}

Tensor apo_zero(const DpoTerms& t, Locals& locals) {
  const Tensor chosen = kept(ghost::rsub(1.0, sigmoid_of(t.logratios.chosen)), locals);
  return chosen.add(kept(sigmoid_of(t.logratios.rejected), locals));
}

Tensor apo_down(const DpoTerms& t, Locals& locals) {
  const Tensor chosen = kept(sigmoid_of(t.logratios.chosen), locals);
  const Tensor difference = t.logratios.chosen.sub(t.logratios.rejected);
  return chosen.add(kept(ghost::rsub(1.0, sigmoid_of(difference)), locals));
}

Tensor discopop(const DpoTerms& t, Locals& locals) {
  const Tensor logits = kept(t.delta_score.mul(kBeta), locals);
  const Tensor modulation = kept(ghost::sigmoid(logits.div(kNumber)), locals);
  const Tensor logistic = kept(ghost::log_sigmoid(logits).neg(), locals);
  const Tensor exponential = kept(ghost::exp(logits.neg()), locals);
  return logistic.mul(ghost::rsub(1.0, modulation)).add(exponential.mul(modulation));
}

/// -chosen_per_token_logps[chosen_mask.bool()].mean(), for each sequence
Tensor sft(const DpoTerms& t, Locals&) {
  const Pair per_token_logps(t.per_token_logps);
  Tensor selected;
  {
    const Tensor counts = t.chosen_shifted.to(DType::boolean);
    selected = ghost::index_by_mask(per_token_logps.chosen, counts, t.scored_of_chosen);
  }
  return selected.mean(0).neg().expand({per_token_logps.chosen.size(0)});
}

using Loss = Tensor (*)(const DpoTerms&, Locals&);
struct NamedLoss {
  std::string_view name;
  Loss loss;
};
constexpr auto kLosses = std::to_array<NamedLoss>({
    {"sigmoid",
     [](const DpoTerms& t, Locals&) -> Tensor { return log_sigmoid_of(t.delta_score).neg(); }},
    {"hinge",
     [](const DpoTerms& t, Locals&) -> Tensor {
       return ghost::relu(ghost::rsub(1.0, t.delta_score.mul(kBeta)));
     }},
    {"ipo",
     [](const DpoTerms& t, Locals& l) -> Tensor { return average_delta(t, l).add(-5.0).pow(2); }},
    {"sigmoid_norm",
     [](const DpoTerms& t, Locals& l) -> Tensor {
       return log_sigmoid_of(average_delta(t, l)).neg();
     }},
    {"exo_pair", exo_pair},
    {"nca_pair", nca_pair},
    {"robust", robust},
    {"bco_pair", bco_pair},
    {"sppo_hard", sppo_hard},
    {"aot", aot},
    {"aot_unpaired", aot_unpaired},
    {"apo_zero", apo_zero},
    {"apo_down", apo_down},
    {"discopop", discopop},
    {"sft", sft},
});

/// (exp(min((a - 1) r, bound)) - 1) * coef
Tensor alpha_divergence(const Tensor& ratios) {
  const Tensor clamped = ghost::clamp(ratios.mul(kNumber), {.max = kNumber});
  return ghost::exp(clamped).add(-1.0).mul(kNumber);
}

Tensor divergence_score(const std::string& f_divergence_type, const Tensor& ratios) {
  if (f_divergence_type == "forward_kl") return ghost::rsub(1.0, ghost::exp(ratios.neg()));
  if (f_divergence_type == "js_divergence") return ghost::log_sigmoid(ratios).add(kNumber);
  if (f_divergence_type == "alpha_divergence") return alpha_divergence(ratios);
  return ratios;
}

}  // namespace

Pair divergence_scores(const std::string& f_divergence_type, const Pair& logratios) {
  Pair scores;
  scores.chosen = divergence_score(f_divergence_type, logratios.chosen);
  scores.rejected = divergence_score(f_divergence_type, logratios.rejected);
  return scores;
}

Tensor dpo_loss(const std::vector<std::string>& loss_types, const DpoTerms& terms,
                std::vector<Tensor>& locals) {
  Tensor loss, per_sequence_loss;
  for (const std::string& type : loss_types) {
    const auto named = std::ranges::find(kLosses, std::string_view(type), &NamedLoss::name);
    per_sequence_loss = named->loss(terms, locals);
    const Tensor weighted = per_sequence_loss.mean(0).mul(ghost::kScale);
    if (loss.defined())
      ghost::add_(loss, weighted);
    else
      loss = weighted.add(0.0);
  }
  locals.push_back(per_sequence_loss);
  return loss;
}

}  // namespace memtape::transformers::trl
