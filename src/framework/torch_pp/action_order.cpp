// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/action_order.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace memtape::torch_pp {
namespace {

/// Writes down actions; the micro-batches of a stage come in order for each kind of work.
class Writer {
 public:
  Action add(Work work, std::int64_t stage) {
    order_.push_back({next(work, stage)});
    return order_.back().front();
  }
  void add_overlapped(std::int64_t forward_stage, std::int64_t backward_stage) {
    const Action forward = next(Work::forward, forward_stage);
    order_.push_back({forward, next(Work::full_backward, backward_stage)});
  }
  void add(const Action& action) { order_.push_back({action}); }
  std::vector<Slot> take() { return std::move(order_); }

 private:
  /// A full backward counts with the backwards of inputs.
  Action next(Work work, std::int64_t stage) {
    const Work counted = work == Work::full_backward ? Work::input_backward : work;
    return {work, stage, counts_[{counted, stage}]++};
  }

  std::map<std::pair<Work, std::int64_t>, std::int64_t> counts_;
  std::vector<Slot> order_;
};

/// ScheduleLoopedBFS: all micro-batches of a stage before the next stage, and back in reverse.
std::vector<Slot> looped_bfs(const Options& o, std::int64_t rank) {
  const std::vector<std::int64_t> stages = stages_of_rank(o, rank);
  Writer writer;
  for (const std::int64_t stage : stages)
    for (std::int64_t i = 0; i < o.microbatches; ++i) writer.add({Work::forward, stage, i});
  for (auto stage = stages.rbegin(); stage != stages.rend(); ++stage)
    for (std::int64_t i = o.microbatches; i-- > 0;) writer.add({Work::full_backward, *stage, i});
  return writer.take();
}

/// _get_1f1b_rank_ops and _get_warmup_ops, which both interleaved schedules go by: the one of zero
/// bubbles warms up half as long and puts off the weights' part from its rank'th backward on.
std::vector<Slot> interleaved(const Options& o, std::int64_t rank) {
  const bool zero_bubble = o.schedule == ScheduleKind::interleaved_zero_bubble;
  const std::int64_t local = o.stages_per_rank;
  const std::int64_t per_round =
      o.microbatches / std::max<std::int64_t>(1, o.microbatches / o.ranks);
  const std::int64_t total = local * o.microbatches;
  const std::int64_t warmup =
      std::min((local - 1) * per_round + (zero_bubble ? 1 : 2) * (o.ranks - 1 - rank), total);
  const auto stage_at = [&](std::int64_t local_index) { return local_index * o.ranks + rank; };
  const auto forward_stage = [&](std::int64_t op) { return stage_at(op / per_round % local); };
  const auto backward_stage = [&](std::int64_t done) {
    return stage_at(local - 1 - done / per_round % local);
  };
  Writer writer;
  for (std::int64_t op = 0; op < warmup; ++op) writer.add(Work::forward, forward_stage(op));
  std::int64_t weights = 0;
  for (std::int64_t done = 0; done < total; ++done) {
    if (warmup + done < total) writer.add(Work::forward, forward_stage(warmup + done));
    writer.add(zero_bubble ? Work::input_backward : Work::full_backward, backward_stage(done));
    if (zero_bubble && done >= rank) writer.add(Work::weight_backward, backward_stage(weights++));
  }
  while (zero_bubble && weights < total)
    writer.add(Work::weight_backward, backward_stage(weights++));
  return writer.take();
}

/// ScheduleZBVZeroBubble, which counts with micro-batches enough to fill the pipeline and leaves
/// those out that there are not.
std::vector<Slot> zbv_zero_bubble(const Options& o, std::int64_t rank) {
  const std::int64_t first = rank, second = o.stages() - 1 - rank;
  const std::int64_t count = std::max(2 * o.ranks - 1, o.microbatches);
  std::int64_t forwards0 = 0, forwards1 = 0, inputs0 = 0, inputs1 = 0;
  Writer writer;
  const auto forward0 = [&] { writer.add(Work::forward, first), ++forwards0; };
  const auto forward1 = [&] { writer.add(Work::forward, second), ++forwards1; };
  const auto input0 = [&] { writer.add(Work::input_backward, first), ++inputs0; };
  const auto input1 = [&] { writer.add(Work::input_backward, second), ++inputs1; };
  const auto weight0 = [&] { writer.add(Work::weight_backward, first); };
  const auto weight1 = [&] { writer.add(Work::weight_backward, second); };

  for (std::int64_t i = 0; i < 2 * (o.ranks - rank) - 1; ++i) forward0();
  for (std::int64_t i = 0; i < rank; ++i) forward1(), forward0();
  for (std::int64_t i = 0; i < o.ranks - rank; ++i) forward1(), input1(), weight1();
  while (forwards1 < forwards0 || forwards0 < count) {
    if (forwards0 < count) forward0();
    input0(), weight0(), forward1(), input1(), weight1();
  }
  std::int64_t weights0 = inputs0, weights1 = inputs1;
  for (std::int64_t i = 0; i < rank; ++i) input0(), input1();
  for (std::int64_t i = 0; i < o.ranks - rank; ++i) input0(), weight0(), ++weights0;
  for (; weights1 < inputs1; ++weights1) weight1();
  for (; weights0 < inputs0; ++weights0) weight0();
  std::vector<Slot> order = writer.take();
  std::erase_if(order, [&](const Slot& slot) { return slot.front().microbatch >= o.microbatches; });
  return order;
}

/// ScheduleDualPipeV, by its eight parts.
class DualPipeV {
 public:
  DualPipeV(const Options& o, std::int64_t rank)
      : o_(o), rank_(rank), first_(rank), second_(o.stages() - 1 - rank) {}

  std::vector<Slot> order() {
    const std::int64_t after = o_.ranks - rank_ - 1;
    for (std::int64_t i = 0; i < 2 * after; ++i) writer_.add(Work::forward, first_);
    for (std::int64_t i = 0; i <= rank_; ++i) {
      writer_.add(Work::forward, first_);
      writer_.add(Work::forward, second_);
    }
    for (std::int64_t i = 0; i < after; ++i) {
      backward(second_, true);
      weight_if_pending();
      writer_.add(Work::forward, second_);
    }
    overlap();
    for (std::int64_t i = 0; i < after; ++i) {
      backward(second_, false);
      writer_.add_overlapped(second_, first_);
    }
    drain(after);
    return writer_.take();
  }

 private:
  void overlap() {
    const std::int64_t count = o_.microbatches - 2 * o_.ranks + rank_ + 1;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == 0 && rank_ == o_.ranks - 1) {
        writer_.add(Work::forward, first_);
        backward(second_, false);
      } else {
        writer_.add_overlapped(first_, second_);
      }
      writer_.add_overlapped(second_, first_);
    }
  }

  /// The second half of these backwards puts off the weights' part.
  void drain(std::int64_t after) {
    const std::int64_t count = rank_ + 1;
    bool splits = false;
    for (std::int64_t i = 0; i < count; ++i) {
      if (i == count / 2 && rank_ % 2 == 1) splits = true;
      backward(second_, splits);
      if (i == count / 2 && rank_ % 2 == 0) splits = true;
      backward(first_, splits);
    }
    for (std::int64_t i = 0; i < after; ++i) {
      weight_if_pending();
      backward(first_, splits);
    }
    for (std::int64_t i = 0; i < count; ++i) weight_if_pending();
  }

  void backward(std::int64_t stage, bool splits) {
    const Action done = writer_.add(splits ? Work::input_backward : Work::full_backward, stage);
    if (splits) pending_.push_back({Work::weight_backward, stage, done.microbatch});
  }
  void weight_if_pending() {
    if (pending_.empty()) return;
    writer_.add(pending_.front());
    pending_.pop_front();
  }

  const Options& o_;
  std::int64_t rank_, first_, second_;
  Writer writer_;
  std::deque<Action> pending_;
};

}  // namespace

std::vector<std::int64_t> stages_of_rank(const Options& options, std::int64_t rank) {
  if (is_v_shaped(options.schedule)) return {rank, options.stages() - 1 - rank};
  std::vector<std::int64_t> stages;
  for (std::int64_t stage = rank; stage < options.stages(); stage += options.ranks)
    stages.push_back(stage);
  return stages;
}

std::vector<Slot> action_order(const Options& options, std::int64_t rank) {
  switch (options.schedule) {
    case ScheduleKind::looped_bfs: return looped_bfs(options, rank);
    case ScheduleKind::zbv_zero_bubble: return zbv_zero_bubble(options, rank);
    case ScheduleKind::dual_pipe_v: return DualPipeV(options, rank).order();
    default: return interleaved(options, rank);
  }
}

}  // namespace memtape::torch_pp
