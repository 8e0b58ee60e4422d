// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/interleaved.h"

#include <algorithm>

namespace memtape::megatron {
namespace {

Tensor taken_from_front(std::deque<Tensor>& queue) {
  Tensor front = std::move(queue.front());
  queue.pop_front();
  return front;
}

}  // namespace

Interleaved::Interleaved(Schedule& schedule, int step)
    : schedule_(schedule),
      a_(schedule.rank_.a),
      step_(step),
      first_rank_(schedule.pp_rank_ == 0),
      last_rank_(schedule.pp_rank_ == a_.pp - 1),
      chunks_(static_cast<std::int64_t>(schedule.chunks_.size())),
      total_(a_.num_microbatches * chunks_),
      warmup_(std::min(
          total_, (a_.pp - schedule.pp_rank_ - 1) * 2 + (chunks_ - 1) * a_.microbatch_group_size)),
      input_tensors_(schedule.chunks_.size()),
      output_tensors_(schedule.chunks_.size()),
      output_tensor_grads_(schedule.chunks_.size()),
      turns_(schedule.chunks_.size()) {
  for (std::int64_t k = 0; k < total_; ++k) {
    turns_[chunk_of(k, true)].forwards.push_back(k);
    turns_[chunk_of(k, false)].backwards.push_back(k);
  }
}

std::size_t Interleaved::chunk_of(std::int64_t k, bool forward) const {
  const std::int64_t group = a_.microbatch_group_size, at = (k + total_) % total_;
  const std::int64_t from = at / (group * chunks_) * group;  // first micro-batch of k's group
  const std::int64_t size = std::min(group, a_.num_microbatches - from);
  const std::int64_t chunk = (at - from * chunks_) / size;
  return static_cast<std::size_t>(forward ? chunk : chunks_ - 1 - chunk);
}

/// recv_tensor_from_previous_stage.
Interleaved::Arrival Interleaved::arrival(std::int64_t k, bool forward) const {
  if (forward ? !first_rank_ : !last_rank_) return {true, chunk_of(k + 1, forward)};
  if (k < a_.pp - 1) return {};
  const std::size_t sender = chunk_of(k - (a_.pp - 1), forward);
  const std::size_t end = forward ? static_cast<std::size_t>(chunks_ - 1) : 0;
  if (sender == end) return {};
  return {true, forward ? sender + 1 : sender - 1};
}

bool Interleaved::ends_forward(std::int64_t k) const {
  return schedule_.chunks_[chunk_of(k, true)]->place().last;
}

bool Interleaved::starts_backward(std::int64_t k) const {
  return schedule_.chunks_[chunk_of(k, false)]->place().first;
}

Schedule::Moment Interleaved::forward_moment(std::size_t chunk) {
  Turns& turns = turns_[chunk];
  const std::size_t at = turns.begun++;
  const bool is_last =
      at + 1 == turns.forwards.size() || turns.forwards[at + 1] > turns.backwards[at] + warmup_;
  return {step_, static_cast<std::int64_t>(at), stage_of(chunk), is_last};
}

Schedule::Moment Interleaved::backward_moment(std::size_t chunk) {
  return {step_, static_cast<std::int64_t>(turns_[chunk].ended++), stage_of(chunk)};
}

/// Stages go round the ranks.
std::int64_t Interleaved::stage_of(std::size_t chunk) const {
  return static_cast<std::int64_t>(chunk) * a_.pp + schedule_.pp_rank_;
}

Tensor Interleaved::receive_input(const Arrival& from) {
  if (!from.comes) return {};
  input_tensors_[from.chunk].push_back(schedule_.received());
  return input_tensors_[from.chunk].back();
}

void Interleaved::receive_gradient(const Arrival& from) {
  if (from.comes) output_tensor_grads_[from.chunk].push_back(schedule_.received());
}

Tensor Interleaved::forward_step(std::int64_t k) {
  const std::size_t chunk = chunk_of(k, true);
  std::deque<Tensor>& inputs = input_tensors_[chunk];
  std::deque<Tensor>& outputs = output_tensors_[chunk];
  if (schedule_.chunks_[chunk]->place().first && inputs.size() == outputs.size())
    inputs.emplace_back();
  const Schedule::InFlight flight =
      schedule_.forward(chunk, inputs[outputs.size()], forward_moment(chunk));
  schedule_.num_tokens_.reset();  // a name of forward_step_helper's own
  outputs.push_back(flight.output);
  return flight.output;
}

Tensor Interleaved::backward_step(std::int64_t k) {
  const std::size_t chunk = chunk_of(k, false);
  if (schedule_.chunks_[chunk]->place().last) output_tensor_grads_[chunk].emplace_back();
  Schedule::InFlight flight;
  flight.input = taken_from_front(input_tensors_[chunk]);
  flight.output = taken_from_front(output_tensors_[chunk]);
  const Tensor gradient = taken_from_front(output_tensor_grads_[chunk]);
  return schedule_.backward(chunk, flight, gradient, backward_moment(chunk));
}

void Interleaved::warmup(std::int64_t k) {
  Arrival next = arrival(k, true);
  if (k == total_ - 1) next.comes = false;
  if (a_.overlaps_p2p_flush && !first_rank_) receive_input(next);
  output_tensor_ = forward_step(k);
  if (ends_forward(k)) output_tensor_.reset();
  if (!a_.overlaps_p2p_flush)
    input_tensor_ = receive_input(next);
  else if (first_rank_)
    receive_input(next);
  const bool turns = k == warmup_ - 1 && warmup_ < total_;
  if (turns && !last_rank_) receive_gradient({true, static_cast<std::size_t>(chunks_ - 1)});
  if (turns) input_tensor_grad_.reset();
  Schedule::deallocate(output_tensor_);
}

/// What forward_backward_helper_wrapper is given when communication overlaps: each half receives as
/// soon as it has run.
void Interleaved::steady_overlapped(std::int64_t k) {
  Schedule::deallocate(output_tensor_);
  Tensor output = forward_step(k + warmup_);
  if (ends_forward(k + warmup_)) output.reset();
  Arrival next = arrival(k + warmup_, true);
  if (k == total_ - warmup_ - 1) next.comes = false;
  receive_input(next);
  Tensor input_grad = backward_step(k);
  if (starts_backward(k)) input_grad.reset();
  receive_gradient(arrival(k, false));
  output_tensor_ = std::move(output);
  input_tensor_grad_ = std::move(input_grad);
}

void Interleaved::steady(std::int64_t k) {
  Tensor output = forward_step(k + warmup_);
  Tensor input_grad = backward_step(k);
  output_tensor_ = ends_forward(k + warmup_) ? Tensor() : std::move(output);
  input_tensor_grad_ = starts_backward(k) ? Tensor() : std::move(input_grad);
  Arrival next = arrival(k + warmup_, true);
  if (k == total_ - warmup_ - 1) next.comes = false;
  const Arrival back = arrival(k, false);
  Tensor input = next.comes ? schedule_.received() : Tensor();
  Tensor gradient = back.comes ? schedule_.received() : Tensor();
  input_tensor_ = std::move(input);
  output_tensor_grad_ = std::move(gradient);
  Schedule::deallocate(output_tensor_);
  if (next.comes) input_tensors_[next.chunk].push_back(input_tensor_);
  if (back.comes) output_tensor_grads_[back.chunk].push_back(output_tensor_grad_);
}

void Interleaved::cooldown(std::int64_t k) {
  Arrival back = arrival(k, false);
  if (k == total_ - 1) back.comes = false;
  const bool early = a_.overlaps_p2p_flush && !last_rank_;
  if (early) receive_gradient(back);
  input_tensor_grad_ = backward_step(k);
  if (starts_backward(k)) input_tensor_grad_.reset();
  if (!early) receive_gradient(back);
}

void Interleaved::run() {
  input_tensors_[0].push_back(first_rank_ ? Tensor() : schedule_.received());
  for (std::int64_t k = 0; k < warmup_; ++k) warmup(k);
  for (std::int64_t k = 0; k < total_ - warmup_; ++k)
    if (a_.overlaps_p2p)
      steady_overlapped(k);
    else
      steady(k);
  Schedule::deallocate(output_tensor_);
  if (warmup_ == total_ && !last_rank_)
    receive_gradient({true, static_cast<std::size_t>(chunks_ - 1)});
  for (std::int64_t k = total_ - warmup_; k < total_; ++k) cooldown(k);
}

}  // namespace memtape::megatron
