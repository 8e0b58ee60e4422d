// SPDX-License-Identifier: Apache-2.0
#include "report/measured_step.h"

#include <algorithm>

namespace memtape::report {
namespace {

std::span<const Window> windows_of(const Timeline& timeline, int step) {
  const auto of_step = [step](const Window& w) { return w.mark.step == step; };
  const auto begin = std::find_if(timeline.windows.begin(), timeline.windows.end(), of_step);
  const auto end = std::find_if_not(begin, timeline.windows.end(), of_step);
  return {begin, end};
}

}  // namespace

std::vector<BlockId> alive_before(const Tape& tape, std::size_t count) {
  std::vector<char> alive(tape.requested.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Event& e = tape.events[i];
    if (e.kind == EventKind::alloc) alive[e.block] = 1;
    if (e.kind == EventKind::free) alive[e.block] = 0;
  }
  std::vector<BlockId> ids;
  for (BlockId id = 0; id < alive.size(); ++id)
    if (alive[id]) ids.push_back(id);
  return ids;
}

MeasuredStep measured_step(const Trace& trace) {
  MeasuredStep step;
  step.windows = windows_of(trace.timeline, trace.step);
  if (step.windows.empty()) step.windows = trace.timeline.windows;
  if (!step.windows.empty()) {
    step.first = step.windows.front().first_event;
    step.last = std::min(step.windows.back().last_event, trace.tape.events.size());
  }
  step.at_start = alive_before(trace.tape, step.first);
  return step;
}

StepWalk::StepWalk(const Trace& trace, const MeasuredStep& step)
    : trace_(trace), at_(step.first), last_(step.last) {
  if (const auto& oom = trace.timeline.out_of_memory) last_ = std::min(last_, oom->event);
  for (BlockId id : step.at_start) account(id, 1);
  if (at_ > 0) reserve_until(at_ - 1);
}

void StepWalk::account(BlockId block, Bytes sign) {
  const Bytes size = sign * size_in_allocator(trace_, block);
  by_category_[trace_.tape.why.category(block)] += size;
  levels_.allocated += size;
  if (size != 0) levels_.requested += sign * trace_.tape.requested[block];
}

void StepWalk::reserve_until(std::size_t event) {
  const auto& samples = trace_.timeline.samples;
  for (; sample_ < samples.size() && samples[sample_].event <= event; ++sample_)
    levels_.reserved = samples[sample_].levels.reserved;
  if (!samples.empty()) return;
  for (; segment_ < trace_.segments.size() && trace_.segments[segment_].event <= event;
       ++segment_) {
    const SegmentChange& change = trace_.segments[segment_];
    levels_.reserved += change.taken ? change.size : -change.size;
  }
}

bool StepWalk::next() {
  if (at_ >= last_) return false;
  const Event& e = trace_.tape.events[at_];
  if (e.kind == EventKind::alloc) account(e.block, 1);
  if (e.kind == EventKind::free) account(e.block, -1);
  reserve_until(at_);
  ++at_;
  return true;
}

}  // namespace memtape::report
