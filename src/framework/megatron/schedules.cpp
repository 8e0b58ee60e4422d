// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/schedules.h"

#include <algorithm>
#include <deque>

#include "ghost/autograd/engine.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::megatron {
namespace {

using ghost::empty;

/// Micro-batches beyond those in flight repeat what was; so many more are run at most.
constexpr std::int64_t kMostRepeats = 16;

/// loss_func of pretrain_gpt.py: sum(losses * loss_mask), and a copy of it to report.
Tensor loss_of(const Tensor& losses, const Tensor& loss_mask) {
  const Tensor flat = losses.view({-1}).to_float();
  if (!loss_mask.defined()) return ghost::sum_all(flat);
  return ghost::sum_all(flat.mul(loss_mask.view({-1})));
}

/// deallocate_output_tensor: the data goes, the history stays.
void deallocate(const Tensor& output) {
  const ghost::Op op("deallocate_output_tensor", {});
  output.impl().storage = empty({1}, output.dtype()).impl().storage;
}

}  // namespace

MicroBatch Schedule::batch(const GptModel& chunk) const {
  const Arguments& a = rank_.a;
  const ghost::Op op("get_batch", {});
  const Dims tokens{a.micro_batch_size, a.seq_length / a.cp};
  MicroBatch batch;
  if (!chunk.place().first && !chunk.place().last) return batch;
  if (!a.pretrain_loop) {  // tokens, which are their own labels
    batch.tokens = batch.labels = empty(tokens, DType::int64, Category::input);
    return batch;
  }
  const bool all = rank_.tp_rank == 0;  // the others get by broadcast what they need
  const bool first = all || chunk.place().first, last = all || chunk.place().last;
  if (first) batch.tokens = empty(tokens, DType::int64, Category::input);
  if (last) {
    batch.labels = empty(tokens, DType::int64, Category::input);
    batch.loss_mask = empty(tokens, DType::float32, Category::input);
  }
  if (a.creates_attention_mask)
    batch.attention_mask =
        empty({a.micro_batch_size, 1, tokens[1], a.seq_length}, DType::boolean, Category::input);
  if (first) batch.position_ids = empty(tokens, DType::int64, Category::input);
  return batch;
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

Schedule::InFlight Schedule::forward(GptModel& chunk, Moment at) {
  ghost::session().mark(Phase::forward, at.step, static_cast<int>(at.micro_batch));
  InFlight flight;
  if (!chunk.place().first) flight.input = received();
  Tensor loss_mask;
  {
    const MicroBatch data = batch(chunk);
    loss_mask = data.loss_mask;
    flight.output = chunk.forward(data, flight.input);
  }
  if (chunk.place().last)
    report(flight.output = loss_of(flight.output, loss_mask));
  else
    deallocate(flight.output);
  return flight;
}

Tensor Schedule::backward(GptModel& chunk, const InFlight& flight, Moment at) {
  ghost::session().mark(Phase::backward, at.step, static_cast<int>(at.micro_batch));
  if (!flight.output.impl().grad_fn) return {};
  if (chunk.place().last) {
    ghost::backward(flight.output);
  } else {
    Tensor gradient = received();
    gradient.impl().requires_grad = false;
    output_grad_ = gradient;
    ghost::backward(flight.output, gradient);
  }
  return flight.input.defined() ? flight.input.grad() : Tensor();
}

void Schedule::without_pipelining(int step) {
  const std::int64_t count = std::min(rank_.a.num_microbatches, kMostRepeats);
  InFlight current;
  for (std::int64_t i = 0; i < count; ++i) {
    current = forward(*chunks_[0], {step, i});
    backward(*chunks_[0], current, {step, i});
  }
}

/// What the loop's names hold: input_tensor_grad until the next backward returns, output_tensor
/// until the next forward does, and with it the graph, whose leaf is the input;
/// output_tensor_grad until the next arrives.
void Schedule::one_forward_one_backward(int step) {
  GptModel& chunk = *chunks_[0];
  const std::int64_t total = rank_.a.num_microbatches;
  const std::int64_t warmup = std::min(total, rank_.a.pp - pp_rank_ - 1);
  const std::int64_t count = std::min(total, warmup + kMostRepeats);
  std::deque<InFlight> alive;
  std::int64_t done = 0;
  InFlight last;
  Tensor input_grad;
  const auto back = [&] {
    last = std::move(alive.front());
    alive.pop_front();
    input_grad = backward(chunk, last, {step, done++});
  };
  for (std::int64_t i = 0; i < count; ++i) {
    InFlight next = forward(chunk, {step, i});
    last.output = next.output;
    last.input.reset();
    alive.push_back(std::move(next));
    if (i >= warmup) back();
  }
  while (!alive.empty()) back();
  output_grad_.reset();
}

std::size_t Schedule::chunk_of(std::int64_t k, bool forward) const {
  const std::int64_t chunks = static_cast<std::int64_t>(chunks_.size());
  const std::int64_t group = rank_.a.microbatch_group_size, total = rank_.a.num_microbatches;
  const std::int64_t from = k / (group * chunks) * group;  // first micro-batch of k's group
  const std::int64_t size = std::min(group, total - from);
  const std::int64_t within = k - from * chunks;
  const std::int64_t chunk = within / size;
  return static_cast<std::size_t>(forward ? chunk : chunks - 1 - chunk);
}

void Schedule::interleaved(int step) {
  const auto chunks = static_cast<std::int64_t>(chunks_.size());
  const std::int64_t total = rank_.a.num_microbatches * chunks;
  const std::int64_t warmup = std::min(
      total, (rank_.a.pp - pp_rank_ - 1) * 2 + (chunks - 1) * rank_.a.microbatch_group_size);
  std::vector<std::deque<InFlight>> alive(chunks_.size());
  std::int64_t done = 0;
  InFlight last;  // forward and backward of one k give their results to the loop together
  Tensor input_grad;
  const auto back = [&] {
    const std::size_t chunk = chunk_of(done, false);
    InFlight oldest = std::move(alive[chunk].front());
    alive[chunk].pop_front();
    Tensor grad = backward(*chunks_[chunk], oldest, {step, done++});
    output_grad_.reset();  // popped within the helper that runs the backward
    last = std::move(oldest);
    input_grad = std::move(grad);
  };
  for (std::int64_t k = 0; k < total; ++k) {
    const std::size_t chunk = chunk_of(k, true);
    alive[chunk].push_back(forward(*chunks_[chunk], {step, k}));
    if (k >= warmup) back();
  }
  while (done < total) back();
}

/// What loss_func gives beside the loss: the number of tokens, and the loss for the log, which is
/// kept for every micro-batch (forward_data_store).
void Schedule::report(const Tensor&) {
  const ghost::Op op("loss_func", {});
  if (rank_.a.pretrain_loop) num_tokens_ = empty({}, DType::int32);
  const std::int64_t values = rank_.a.pretrain_loop ? 2 : 1;
  reports_.push_back(empty({values}, DType::float32));
}

void Schedule::run(int step) {
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
    interleaved(step);
  num_tokens_.reset();
  reports_.clear();
  finish_deferred();
}

/// drain_embedding_wgrad_compute: the products that waited, one after the other.
void Schedule::finish_deferred() {
  const Arguments& a = rank_.a;
  for (Tensor& grad : rank_.deferred) {
    const ghost::Op op("wgrad_compute", {});
    if (!a.gradient_accumulation_fusion)
      const Tensor product = empty({grad.size(-1), a.hidden_size}, a.params_dtype);
    grad.reset();
  }
  rank_.deferred.clear();
}

}  // namespace memtape::megatron
