// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/token_dispatcher.h"

#include <algorithm>
#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/sum_of_bools.h"
#include "ghost/ops/view_in_place.h"

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// The columns of this rank's experts, packed.
Tensor columns(const Tensor& x, std::int64_t count) { return x.slice(1, 0, count).contiguous(); }

class GatheringDispatcher final : public TokenDispatcher {
 public:
  explicit GatheringDispatcher(Rank& rank) : TokenDispatcher(rank) {
    rank.kept.insert(rank.kept.end(), {&map_, &local_map_, &local_probs_, &mapping_});
  }

  Tokens preprocess(const Tensor& rows, const Routing& routing) override {
    map_ = routing.map;
    return {rows, routing.probs};
  }

  Tokens dispatch(const Tokens& tokens) override {
    if (group() == 1) return tokens;
    map_ = gathered(map_, group());
    const Tensor probs = gather_rows(tokens.probs, group());
    return {gathered_into_buffer(tokens.hidden), probs};
  }

  Tokens postprocess(const Tokens& tokens) override {
    local_map_ = columns(map_, local_);
    local_probs_ = columns(tokens.probs, local_);
    {
      const Tensor tokens_per_expert = ghost::sum_of_bools(local_map_, 0);
    }
    tokens_ = tokens.hidden.size(0);
    const std::int64_t mine =
        moe_.load.of_fullest_gpu({tokens_, moe_.topk, moe_.num_experts}, local_);
    options_ = {.count = mine,
                .fused = moe_.permute_fusion,
                .by_sort = rank_.a.pretrain_loop,
                .deterministic = rank_.a.deterministic};
    Permuted permuted = permute(tokens.hidden, local_map_, {}, options_);
    mapping_ = permuted.mapping;
    Tensor by_expert = local_probs_.transpose(0, 1).contiguous();
    local_probs_ =
        ghost::masked_select(std::move(by_expert), local_map_.transpose(0, 1).contiguous(), mine);
    map_.reset();
    return {permuted.tokens.hidden, local_probs_};
  }

  Tensor combine_preprocess(const Tensor& output) override {
    return unpermute(output, mapping_, tokens_, options_);
  }

  Tensor combine(const Tensor& output) override {
    if (group() == 1) return output;
    const Tensor summed = scatter_rows(output.to(local_probs_.dtype()), group());
    return summed.to(output.dtype());
  }

  Tensor combine_postprocess(const Tensor& output) override { return output; }

 private:
  std::int64_t group() const { return ep_ * etp_; }

  /// gather_from_sequence_parallel_region(..., use_global_buffer=True)
  Tensor gathered_into_buffer(const Tensor& rows) {
    const std::int64_t parts = group();
    return apply({.name = "_GatherFromSequenceParallelRegionBackward",
                  .inputs = {rows},
                  .forward =
                      [&](ToSave&) {
                        return rank_.global_buffer({rows.size(0) * parts, rows.size(1)},
                                                   rows.dtype());
                      },
                  .backward = [parts](std::span<const Tensor>, const Tensor& grad,
                                      Gradients& in) { in[0] = scattered(grad, parts); }});
  }

  Tensor map_, local_map_, local_probs_, mapping_;
  std::int64_t tokens_ = 0;
  PermuteOptions options_;
};

class ExchangingDispatcher final : public TokenDispatcher {
 public:
  explicit ExchangingDispatcher(Rank& rank) : TokenDispatcher(rank) {
    rank.kept.insert(rank.kept.end(), {&map_, &probs_, &mapping_});
  }

  Tokens preprocess(const Tensor& rows, const Routing& routing) override {
    tokens_ = rows.size(0);
    probs_ = routing.probs;
    map_ = routing.map;
    options_ = {.count = sent(),
                .fused = moe_.permute_fusion,
                .pads = moe_.pads_to_capacity,
                .by_sort = rank_.a.pretrain_loop,
                .deterministic = rank_.a.deterministic};
    if (!moe_.pads_to_capacity) count_tokens();
    if (shared_experts_) shared_experts_->pre_forward_comm(rows.view(shape_of(rows)));
    Permuted permuted = permute(rows, map_, probs_, options_);
    mapping_ = permuted.mapping;
    return permuted.tokens;
  }

  Tokens dispatch(const Tokens& tokens) override {
    if (ep_ == 1) return tokens;
    const Tensor hidden = exchanged(tokens.hidden, received() / etp_);
    return {hidden, exchanged(tokens.probs, received() / etp_)};
  }

  Tokens postprocess(const Tokens& tokens) override {
    if (shared_experts_) shared_experts_->fc1_forward_and_act(ep_ > 1 ? tokens.hidden : Tensor());
    Tokens mine = tokens;
    if (etp_ > 1) mine.hidden = gather_rows(mine.hidden, etp_);
    if (etp_ > 1) mine.probs = gather_rows(mine.probs, etp_);
    if (local_ == 1) return mine;
    mine.hidden = sorted(mine.hidden, ep_ * etp_, local_);
    mine.probs = sorted(mine.probs, ep_ * etp_, local_);
    return mine;
  }

  Tensor combine_preprocess(const Tensor& output) override {
    Tensor rows = local_ == 1 ? output : sorted(output, local_, ep_ * etp_);
    if (etp_ == 1) return rows;
    const DType dtype = rows.dtype();
    return scatter_rows(rows.to(probs_.dtype()), etp_).to(dtype);
  }

  Tensor combine(const Tensor& output) override {
    return ep_ == 1 ? output : exchanged(output, sent());
  }

  Tensor combine_postprocess(const Tensor& output) override {
    if (!shared_experts_) return unpermute(output, mapping_, tokens_, options_);
    shared_experts_->fc2_forward(ep_ > 1 ? output : Tensor());
    shared_experts_->post_forward_comm();
    const Tensor rows = unpermute(output, mapping_, tokens_, options_);
    const Tensor summed = rows.view(shape_of(rows));
    ghost::add_view_(summed, shared_experts_->output());
    return summed;
  }

 private:
  /// hidden_shape: [sequence, micro-batch, hidden].
  Dims shape_of(const Tensor& rows) const {
    const std::int64_t sequences = rank_.a.micro_batch_size;
    return {rows.size(0) / sequences, sequences, rows.size(1)};
  }

  /// Tokens that an expert may get from one rank, if that is limited.
  std::int64_t sent() const {
    const std::int64_t all = tokens_ * moe_.topk;
    if (!moe_.capacity_factor) return all;
    const std::int64_t most = moe_.capacity(tokens_) * moe_.num_experts;
    return moe_.pads_to_capacity ? most : std::min(most, all);
  }

  std::int64_t received() const {
    if (moe_.capacity_factor) return sent() * etp_;
    return moe_.load.of_fullest_gpu({tokens_ * ep_ * etp_, moe_.topk, moe_.num_experts}, local_);
  }

  /// preprocess(): how many tokens go where, on the device until the host has it.
  void count_tokens() const {
    const Tensor mine = ghost::sum_of_bools(map_, 0);
    if (ep_ * etp_ == 1) return;
    const Tensor input_splits = mine.reshape({ep_, local_}).sum(1);
    const Tensor all =
        gathered(mine, ep_ * etp_).reshape({ep_, etp_, moe_.num_experts}).transpose(0, 1);
    const Tensor of_experts = all.slice(2, 0, local_).contiguous();
    const Tensor of_ranks = of_experts.sum(2);
    const Tensor output_splits_tp = of_ranks.sum(1);
    const Tensor of_local_experts = empty({local_}, DType::int64);
  }

  /// all_to_all
  static Tensor exchanged(const Tensor& x, std::int64_t rows) {
    return apply(
        {.name = "_AllToAllBackward",
         .inputs = {x},
         .forward =
             [&](ToSave&) {
               Dims sizes = x.sizes();
               sizes[0] = rows;
               return empty(sizes, x.dtype());
             },
         .backward =
             [sizes = x.sizes()](std::span<const Tensor>, const Tensor& grad, Gradients& in) {
               const Tensor packed = grad.contiguous();
               in[0] = empty(sizes, grad.dtype());
             }});
  }

  /// By expert instead of by rank, or back.
  Tensor sorted(const Tensor& x, std::int64_t parts, std::int64_t chunks) const {
    if (!moe_.pads_to_capacity) return sort_chunks(x, parts, chunks, moe_.permute_fusion);
    Dims sizes{parts, chunks, x.size(0) / (parts * chunks)};
    for (int d = 1; d < x.dim(); ++d) sizes.push_back(x.size(d));
    return x.view(sizes).transpose(0, 1).contiguous().view(x.sizes());
  }

  Tensor map_, probs_, mapping_;
  std::int64_t tokens_ = 0;
  PermuteOptions options_;
};

}  // namespace

std::unique_ptr<TokenDispatcher> make_token_dispatcher(Rank& rank) {
  if (rank.a.moe.gathers_tokens) return std::make_unique<GatheringDispatcher>(rank);
  return std::make_unique<ExchangingDispatcher>(rank);
}

}  // namespace memtape::megatron
