// SPDX-License-Identifier: Apache-2.0
#include "tape/repeat.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "base/given_up.h"

namespace memtape {
namespace {

constexpr BlockId kNone = std::numeric_limits<BlockId>::max();

/// The first block allocated from `first` on; blocks are numbered in order, so those after it are
/// the stretch's own.
BlockId first_block(const Tape& tape, std::size_t first) {
  for (std::size_t at = first; at < tape.events.size(); ++at)
    if (tape.events[at].kind == EventKind::alloc) return tape.events[at].block;
  return kNone;
}

}  // namespace

bool is_steady(const Tape& tape, std::size_t first) {
  const BlockId own = first_block(tape, first);
  std::size_t allocs = 0, frees = 0;
  for (std::size_t at = first; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind == EventKind::alloc) ++allocs;
    if (event.kind != EventKind::free) continue;
    if (event.block < own) return false;
    ++frees;
  }
  return allocs == frees;
}

std::optional<Handover> handover(const Tape& tape, std::size_t first, std::size_t second) {
  const BlockId earlier = first_block(tape, first), own = first_block(tape, second);
  std::vector<BlockId> taken, left;
  std::vector<bool> freed(own == kNone ? 0 : tape.requested.size() - own);
  for (std::size_t at = second; at < tape.events.size(); ++at) {
    const Event& event = tape.events[at];
    if (event.kind != EventKind::free) continue;
    if (event.block < earlier) return std::nullopt;
    if (event.block < own)
      taken.push_back(event.block);
    else
      freed[event.block - own] = true;
  }
  for (std::size_t i = 0; i < freed.size(); ++i)
    if (!freed[i]) left.push_back(own + static_cast<BlockId>(i));
  if (taken.size() != left.size()) return std::nullopt;
  std::ranges::sort(taken);
  Handover pairs;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const Why was = tape.why[taken[i]], is = tape.why[left[i]];
    if (tape.requested[taken[i]] != tape.requested[left[i]] || std::string_view(was.op) != is.op ||
        was.scope != is.scope)
      return std::nullopt;
    pairs.emplace_back(taken[i], left[i]);
  }
  return pairs;
}

void append_again(Tape& tape, std::size_t first, int step) {
  append_again(tape, {first, tape.events.size()}, step, {});
}

void run_steps(Tape& tape, int steps, const std::function<bool(int step)>& run_step) {
  std::size_t last_began = 0;
  for (int step = 0; step < steps; ++step) {
    if (is_given_up()) return;
    const bool is_last = step > 0 && step + 1 == steps;
    if (is_last && is_steady(tape, last_began)) return append_again(tape, last_began, step);
    last_began = tape.events.size();
    if (!run_step(step)) return;
  }
}

void append_again(Tape& tape, const EventRange& stretch, int step, const Handover& given) {
  const BlockId own = first_block(tape, stretch.from);
  const auto shift = own == kNone ? 0 : static_cast<BlockId>(tape.requested.size()) - own;
  const auto in_turn = [&](BlockId block) {
    if (block >= own) return block + shift;
    const auto at = std::ranges::lower_bound(given, block, {}, &Handover::value_type::first);
    return at != given.end() && at->first == block ? at->second : block;
  };
  make_room(tape.events, stretch.to - stretch.from);
  make_room(tape.requested, shift);
  tape.why.make_room(shift);
  for (std::size_t at = stretch.from; at < stretch.to; ++at) {
    Event event = tape.events[at];
    if (event.kind == EventKind::mark) {
      Mark mark = tape.marks[event.block];
      mark.step = step;
      tape.mark(mark);
      continue;
    }
    if (event.kind == EventKind::alloc) {
      tape.alloc_again(event.block, event.stream);
      continue;
    }
    if (event.kind != EventKind::empty_cache) event.block = in_turn(event.block);
    tape.events.push_back(event);
  }
}

}  // namespace memtape
