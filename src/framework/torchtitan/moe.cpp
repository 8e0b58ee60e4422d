// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/moe.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "framework/torchtitan/expert_parallel.h"
#include "framework/torchtitan/permutation.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/grouped_mm.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/put_rows.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/sorting.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"
#include "model/type_of.h"

namespace memtape::torchtitan {
namespace {

/// No op within is kept, nor counted, by selective checkpointing of ops
/// (per_op_sac_force_recompute_mm_shapes_by_fqns, which names moe.router.gate).
struct NothingKept {
  ghost::Given<ghost::KeptOutputs> given{nullptr};
};

/// What transformers' configurations leave out.
struct Defaults {
  std::string_view family;
  std::int64_t num_experts, num_shared_experts, top_k, hidden_dim;
  bool by_sigmoid = false, route_norm = false, score_before_experts = false;
};
constexpr auto kDefaults =
    std::to_array<Defaults>({{"deepseek_v2", 64, 2, 6, 1407},
                             {"deepseek_v3", 256, 1, 8, 2048, true, true},
                             {"qwen3_moe", 128, 0, 8, 768},
                             {"llama4_text", 16, 1, 1, 8192, true, false, true}});

/// TokenReorderer.forward
struct Reordered {
  Tensor token_indices, top_scores, num_tokens_per_expert;
};
Reordered reorder(const TokenChoice& choice, const MoeArgs& args) {
  Reordered reordered;
  reordered.num_tokens_per_expert =
      ghost::count_ids(choice.selected_experts_indices.view({-1}), args.num_experts);
  Tensor order = ghost::sort(choice.selected_experts_indices.view({-1})).second;
  reordered.top_scores = ghost::index(choice.top_scores.view({-1}), order);
  reordered.token_indices = ghost::floor_divide(order, args.top_k);
  return reordered;
}

/// _run_experts_grouped_mm
Tensor run_experts(const Tensor& w1, const Tensor& w2, const Tensor& w3, const Tensor& x,
                   const Tensor& num_tokens_per_expert) {
  Tensor h;
  const Tensor offsets = ghost::ends_of_groups(num_tokens_per_expert);
  const auto product = [&offsets](const Tensor& rows, const Tensor& weight) {
    const Tensor input = rows.to(DType::bfloat16);
    return ghost::grouped_mm(input, weight.to(DType::bfloat16).transpose(-2, -1), offsets);
  };
  h = ghost::silu(product(x, w1));
  h = h.mul(product(x, w3));
  return product(h, w2).to(x.dtype());
}

}  // namespace

MoeArgs read_moe_args(const Config& config) {
  const std::string family = type_of(config);
  const auto known = std::find_if(kDefaults.begin(), kDefaults.end(),
                                  [&](const Defaults& d) { return d.family == family; });
  const Defaults& otherwise = known == kDefaults.end() ? kDefaults.front() : *known;
  const bool is_llama4 = otherwise.score_before_experts;
  MoeArgs args{
      .num_experts = config.dimension({"n_routed_experts", "num_experts", "num_local_experts"},
                                      otherwise.num_experts),
      .num_shared_experts = otherwise.num_shared_experts,
      .top_k = config.dimension("num_experts_per_tok", otherwise.top_k),
      .hidden_dim = config.dimension(is_llama4 ? "intermediate_size" : "moe_intermediate_size",
                                     otherwise.hidden_dim)};
  if (family.starts_with("deepseek"))
    args.num_shared_experts = config.count("n_shared_experts", otherwise.num_shared_experts);
  const char* const score_func = otherwise.by_sigmoid ? "sigmoid" : "softmax";
  args.by_sigmoid = config.text("scoring_func", score_func) == "sigmoid";
  args.route_norm = config.boolean("norm_topk_prob", otherwise.route_norm);
  args.score_before_experts = otherwise.score_before_experts;
  if (args.top_k > args.num_experts)
    config.fail("num_experts_per_tok",
                "must be at most the experts' number, " + std::to_string(args.num_experts));
  return args;
}

FeedForward::FeedForward(const nn::Scope& scope, std::int64_t dim, std::int64_t hidden_dim)
    : Module(scope),
      w1_(scope / "w1", dim, hidden_dim, false),
      w2_(scope / "w2", hidden_dim, dim, false),
      w3_(scope / "w3", dim, hidden_dim, false) {}

Tensor FeedForward::forward(const Tensor& x) { return w2_(ghost::silu(w1_(x)).mul(w3_(x))); }

GroupedExperts::GroupedExperts(const nn::Scope& scope, std::int64_t dim, const MoeArgs& args)
    : Module(scope),
      args_(args),
      w1_(scope.parameter("w1", {args.num_experts, args.hidden_dim, dim})),
      w2_(scope.parameter("w2", {args.num_experts, dim, args.hidden_dim})),
      w3_(scope.parameter("w3", {args.num_experts, args.hidden_dim, dim})) {}

/// indices_padding_wrapper(_run_experts_grouped_mm)
Tensor GroupedExperts::forward(const Tensor& x, const Tensor& num_tokens_per_expert) {
  if (args_.expert_parallel > 1) return forward_shared(x, num_tokens_per_expert);
  const std::int64_t experts = w1_.size(0);
  const Permuted permuted =
      permute(x, num_tokens_per_expert, num_tokens_per_expert.size(0) / experts, experts);
  const Tensor out = run_experts(w1_, w2_, w3_, permuted.x, permuted.counts);
  return unpermute(out, permuted);
}

/// _token_dispatch and _token_combine around the products.
Tensor GroupedExperts::forward_shared(const Tensor& x, const Tensor& num_tokens_per_expert) {
  const std::int64_t ranks = args_.expert_parallel, experts = w1_.size(0);
  const TokenPicks picks{.tokens = x.size(0) / args_.top_k * ranks,
                         .top_k = args_.top_k,
                         .experts = args_.num_experts};
  Permuted permuted;
  {
    const Tensor counts = all_to_all_single(num_tokens_per_expert, num_tokens_per_expert.size(0));
    for (const Tensor* of : {&num_tokens_per_expert, &counts})
      const Tensor splits = of->view({ranks, experts}).sum(1);
    Tensor routed = all_to_all_single(x, args_.load.of_fullest_gpu(picks, experts));
    permuted = permute(routed, counts, ranks, experts);
    routed.reset();
    permuted_indices_ = permuted.indices;
  }
  const Tensor out = run_experts(w1_, w2_, w3_, permuted.x, permuted.counts);
  sent_ = unpermute(out, permuted);
  return all_to_all_single(sent_, x.size(0));
}

void GroupedExperts::share() {
  for (const Tensor* weight : {&w1_, &w2_, &w3_})
    weight->impl().sizes[0] = args_.num_experts / args_.expert_parallel;
}

void GroupedExperts::cut(std::int64_t parts, std::int64_t index) {
  const std::int64_t own = shard(args_.hidden_dim, parts, index);
  for (const Tensor* weight : {&w1_, &w3_}) weight->impl().sizes[1] = own;
  w2_.impl().sizes[2] = own;
  for (const Tensor* weight : {&w1_, &w2_, &w3_})
    weight->impl().strides = ghost::contiguous_strides(weight->sizes());
}

TokenChoiceTopKRouter::TokenChoiceTopKRouter(const nn::Scope& scope, std::int64_t dim,
                                             const MoeArgs& args)
    : Module(scope), args_(args), gate_(scope / "gate", dim, args.num_experts, false) {}

TokenChoice TokenChoiceTopKRouter::forward(const Tensor& x, const Tensor& expert_bias) {
  TokenChoice choice;
  Tensor denominator, values, scores;
  {
    const NothingKept of_the_gate;
    scores = gate_(x);
  }
  scores = args_.by_sigmoid ? ghost::sigmoid(scores.to_float())
                            : ghost::softmax(scores.to_float(), DType::float32);
  std::tie(values, choice.selected_experts_indices) =
      ghost::topk(scores.add(expert_bias), args_.top_k);
  Tensor& top_scores = choice.top_scores;
  top_scores = ghost::gather(scores, choice.selected_experts_indices);
  if (args_.route_norm) {
    denominator = top_scores.sum(-1, true).add(1e-20);
    top_scores = top_scores.div(denominator);
  }
  top_scores = top_scores.mul(2.0);
  choice.num_tokens_per_expert =
      ghost::count_ids(choice.selected_experts_indices.view({-1}), args_.num_experts);
  return choice;
}

MoE::MoE(const nn::Scope& scope, std::int64_t dim, const MoeArgs& args)
    : Module(scope),
      args_(args),
      experts_(scope / "experts", dim, args),
      router_(scope / "router", dim, args) {
  if (args.num_shared_experts > 0)
    shared_experts_.emplace(scope / "shared_experts", dim,
                            args.hidden_dim * args.num_shared_experts);
}

void MoE::init_weights() {
  const ghost::ScopeGuard guard(node().scope);
  for (Tensor* buffer : {&expert_bias_, &tokens_per_expert_})  // to_empty's
    *buffer = ghost::empty({args_.num_experts}, DType::float32);
  tokens_per_expert_ = ghost::zeros({args_.num_experts}, DType::float32);
  expert_bias_ = ghost::zeros({args_.num_experts}, DType::float32);
  node().buffers = {{"expert_bias", expert_bias_}, {"tokens_per_expert", tokens_per_expert_}};
}

Tensor MoE::forward(const Tensor& input) {
  Tensor routed_output, routed_input;
  Reordered reordered;
  TokenChoice choice;
  const std::int64_t dim = input.size(2);
  const Tensor x = input.view({-1, dim});
  choice = router_(x, expert_bias_);
  if (slices_ > 1) {
    const std::int64_t tokens = x.size(0) / slices_;
    choice.top_scores = choice.top_scores.slice(0, 0, tokens);
    choice.selected_experts_indices = choice.selected_experts_indices.slice(0, 0, tokens);
  }
  reordered = reorder(choice, args_);
  choice.num_tokens_per_expert.reset();
  const Tensor token_indices = reordered.token_indices.view({-1, 1}).expand({-1, dim});
  routed_input = ghost::gather(x, token_indices);
  const auto scored = [&](const Tensor& rows) {
    return rows.to_float().mul(reordered.top_scores.view({-1, 1})).to(x.dtype());
  };
  if (args_.score_before_experts) routed_input = scored(routed_input);
  routed_output = experts_(routed_input, reordered.num_tokens_per_expert);
  Tensor out = shared_experts_ ? (*shared_experts_)(x) : ghost::zeros_like(x);
  experts_.wait();
  if (!args_.score_before_experts) routed_output = scored(routed_output);
  out = ghost::scatter_add(out, token_indices, routed_output);
  return out.view(input.sizes());
}

}  // namespace memtape::torchtitan
