// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/schedules.h"

#include <algorithm>
#include <deque>

#include "framework/megatron/interleaved.h"
#include "framework/megatron/place.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// So many layers are run forward and backward in rounds of a step at most, but of few rounds all:
/// the tape of a step is then some hundred megabytes.
constexpr std::int64_t kMostLayerRounds = 16384;
constexpr std::int64_t kFewestRounds = 16;

/// With fewer micro-batches comparing them costs what writing them down saves.
constexpr std::int64_t kFewestAlike = 3;

}  // namespace

Schedule::Schedule(Rank& rank, std::vector<std::unique_ptr<StageModel>>& chunks,
                   std::int64_t pp_rank, bool writes)
    : rank_(rank), chunks_(chunks), pp_rank_(pp_rank) {
  if (!writes || rank.offload || rank.a.num_microbatches < kFewestAlike) return;
  for (std::size_t i = 0; i < chunks.size(); ++i) passes_.emplace_back(kept_of(i), rank.a.cp > 1);
}

/// What the rank keeps and what a chunk does; other chunks' places do not change in its passes.
std::vector<Tensor*> Schedule::kept_of(std::size_t chunk) const {
  const auto at = [this](std::size_t i) {
    const std::size_t place = i < chunks_.size() ? chunks_[i]->first_kept() : rank_.kept.size();
    return rank_.kept.begin() + static_cast<std::ptrdiff_t>(place);
  };
  std::vector<Tensor*> kept(rank_.kept.begin(), at(0));
  kept.insert(kept.end(), at(chunk), at(chunk + 1));
  return kept;
}

void Schedule::deallocate(const Tensor& output) {
  if (!output.defined()) return;
  const ghost::Op op("deallocate_output_tensor", {});
  output.impl().storage = empty({1}, output.dtype()).impl().storage;
}

/// torch.empty(tensor_shape, requires_grad=True) of p2p_communication.py.
Tensor Schedule::received() const {
  const Arguments& a = rank_.a;
  const std::int64_t sequence = a.seq_length / a.cp / (a.sequence_parallel ? a.tp : 1);
  const ghost::Op op("recv", {});
  Tensor tensor =
      empty({sequence, a.micro_batch_size, a.hidden_size}, a.params_dtype, Category::communication);
  tensor.impl().requires_grad = true;
  return tensor;
}

std::int64_t rounds_not_followed(const Arguments& a, std::int64_t pp_rank) {
  if (a.vpp > 1) return 0;
  const std::int64_t layers = std::max<std::int64_t>(1, chunks_of(a, pp_rank).front().layers);
  const std::int64_t followed = std::max(kFewestRounds, kMostLayerRounds / layers);
  return std::max<std::int64_t>(0, a.num_microbatches - (a.pp - pp_rank - 1) - followed);
}

void Schedule::mark(Phase phase, const Moment& at) {
  ghost::session().mark(phase, at.step, static_cast<int>(at.micro_batch),
                        static_cast<int>(at.stage));
}

/// forward_step_calc_loss averages the loss in place, but in Megatron-LM's own program.
void Schedule::average(const Tensor& loss) {
  const ghost::Op op("loss_func", {});
  ghost::mul_(loss, 1.0);
  ghost::mul_(loss, 1.0);
}

Tensor Schedule::run_forward(StageModel& chunk, const Tensor& input) const {
  Tensor output = chunk.forward_step(input);
  if (chunk.place().last && !rank_.a.pretrain_loop) average(output);
  return output;
}

Schedule::InFlight Schedule::forward(std::size_t chunk, const Tensor& input, Moment at) {
  mark(Phase::forward, at);
  StageModel& model = *chunks_[chunk];
  InFlight flight{input, {}};
  ghost::MicroBatches* const passes = passes_.empty() ? nullptr : &passes_[chunk];
  if (auto written = passes ? passes->write_forward(input, at.is_last) : std::nullopt) {
    flight.output = std::move(*written);
  } else {
    if (passes) passes->begin_forward();
    flight.output = run_forward(model, flight.input);
    if (passes) passes->end_forward(flight.input, flight.output);
  }
  if (model.place().last) report(flight.output);
  if (rank_.a.moe.num_experts > 0) scale_aux_losses();
  return flight;
}

Tensor Schedule::backward(std::size_t chunk, const InFlight& flight, const Tensor& gradient,
                          Moment at) {
  mark(Phase::backward, at);
  ghost::MicroBatches* const passes = passes_.empty() ? nullptr : &passes_[chunk];
  if (passes && passes->is_written(flight.output)) {
    passes->write_backward(flight.output);
  } else {
    if (!flight.output.impl().grad_fn) return {};
    if (passes) passes->begin_backward(flight.output);
    if (chunks_[chunk]->place().last)
      ghost::backward(scaled(flight.output));
    else
      ghost::backward(flight.output, gradient);
    if (passes) passes->end_backward(flight.input, flight.output);
  }
  return flight.input.defined() ? flight.input.grad() : Tensor();
}

void Schedule::without_pipelining(int step) {
  skipped_ = rounds_not_followed(rank_.a, pp_rank_);
  const std::int64_t count = rank_.a.num_microbatches - skipped_;
  InFlight current;
  for (std::int64_t i = 0; i < count; ++i) {
    current = forward(0, {}, {step, i, 0, i + 1 == count});
    backward(0, current, {}, {step, i});
  }
}

/// forward_backward_pipelining_without_interleaving: its loops, and what their names hold.
void Schedule::one_forward_one_backward(int step) {
  const bool first = chunks_[0]->place().first, last = chunks_[0]->place().last;
  const std::int64_t total = rank_.a.num_microbatches;
  const std::int64_t warmup = std::min(total, rank_.a.pp - pp_rank_ - 1);
  skipped_ = rounds_not_followed(rank_.a, pp_rank_);
  const std::int64_t count = total - skipped_;
  std::deque<InFlight> alive;
  Tensor input, output, output_grad, input_grad;
  const auto run_forward = [&](std::int64_t i) {
    InFlight next = forward(0, input, {step, i, 0, i + 1 == count});
    output = next.output;
    alive.push_back(std::move(next));
  };
  const auto run_backward = [&](std::int64_t i) {
    input = alive.front().input;
    output = alive.front().output;
    alive.pop_front();
    input_grad = backward(0, {input, output}, output_grad, {step, i});
  };
  for (std::int64_t i = 0; i < warmup; ++i) {
    input = first ? Tensor() : received();
    run_forward(i);
    deallocate(output);
  }
  if (count > warmup) input = first ? Tensor() : received();
  for (std::int64_t i = warmup; i < count; ++i) {
    run_forward(i);
    if (!last) {
      output_grad = received();
      deallocate(output);
    }
    run_backward(i - warmup);
    input = first || i + 1 == count ? Tensor() : received();
  }
  for (std::int64_t i = count - warmup; i < count; ++i) {
    input = alive.front().input;
    output = alive.front().output;
    output_grad = last ? Tensor() : received();
    run_backward(i);
  }
}

/// `scale * loss`. What Megatron-LM's own program adds here in scalars is not followed.
Tensor Schedule::scaled(const Tensor& loss) const {
  return rank_.a.pretrain_loop || !scale_.defined() ? loss : scale_.mul(loss);
}

/// What loss_func gives beside the loss: the number of tokens, and the loss for the log, which is
/// kept for every micro-batch (forward_data_store), also of those that are not run.
void Schedule::report(const Tensor& loss) {
  const ghost::Op op("loss_func", {});
  if (!rank_.a.pretrain_loop) {
    for (; skipped_ > 0 && !reports_.empty(); --skipped_)
      reports_.push_back(empty({1}, DType::float32));
    reports_.push_back(loss.detach());
    return;
  }
  num_tokens_ = empty({}, DType::int32);
  constexpr std::int64_t kValues = 2;
  for (; skipped_ > 0 && !reports_.empty(); --skipped_)
    reports_.push_back(empty({kValues}, DType::float32));
  reports_.push_back(empty({kValues}, DType::float32));
}

/// MoEAuxLossAutoScaler.set_loss_scale: the first scale is kept, and others are copied into it.
/// What Megatron-LM's own program keeps is among its scalars (pretrain).
void Schedule::scale_aux_losses() {
  if (rank_.a.pretrain_loop || !scale_.defined()) return;
  const ghost::Op op("set_loss_scale", {});
  const Tensor loss_scale = scale_.mul(empty({1}, DType::float32));
  const Tensor share = loss_scale.mul(ghost::kScale).div(ghost::kScale);
  if (!aux_scale_.defined()) aux_scale_ = share;
}

void Schedule::run(int step) {
  for (ghost::MicroBatches& passes : passes_) passes.begin_step();
  Tensor total_num_tokens;
  {
    const ghost::Op op("total_num_tokens", {});
    total_num_tokens = empty({}, DType::int32);
  }
  if (rank_.a.pp == 1)
    without_pipelining(step);
  else if (chunks_.size() == 1)
    one_forward_one_backward(step);
  else
    Interleaved(*this, step).run();
  if (rank_.offload) rank_.offload->end_step();
  num_tokens_.reset();
  reports_.clear();
  finish_deferred();
}

/// drain_embedding_wgrad_compute: the products that waited, one after the other.
void Schedule::finish_deferred() {
  const Arguments& a = rank_.a;
  for (std::size_t i = 0; i < rank_.deferred.size(); ++i) {
    Tensor& grad = rank_.deferred[i];
    const ghost::Op op("wgrad_compute", {});
    if (!a.gradient_accumulation_fusion)
      const Tensor product = empty({grad.size(-1), a.hidden_size}, a.params_dtype);
    grad.reset();
    if (i < rank_.deferred_inputs.size()) rank_.deferred_inputs[i].reset();
  }
  rank_.deferred.clear();
  rank_.deferred_inputs.clear();
}

}  // namespace memtape::megatron
