// SPDX-License-Identifier: Apache-2.0
#include "time/pipeline.h"

#include <algorithm>
#include <cstddef>

namespace memtape::time {
namespace {

struct Action {
  char kind = 'F';
  std::int32_t chunk = 0;  ///< of the model
  std::int32_t micro_batch = 0;
};

using Order = std::vector<Action>;

std::int32_t narrow(std::int64_t x) { return static_cast<std::int32_t>(x); }

/// Forwards of a rank one by one: groups of as many micro-batches as there are ranks go through all
/// its chunks (forward_backward_pipelining_with_interleaving; Schedule Interleaved1F1B).
Order in_groups(const Pipeline& p, std::int64_t rank, bool forward) {
  Order order;
  for (std::int64_t first = 0; first < p.micro_batches; first += p.ranks)
    for (std::int64_t c = 0; c < p.chunks_per_rank; ++c)
      for (std::int64_t m = first; m < std::min(first + p.ranks, p.micro_batches); ++m) {
        const std::int64_t chunk = forward ? c : p.chunks_per_rank - 1 - c;
        order.push_back({forward ? 'F' : 'B', narrow(chunk * p.ranks + rank), narrow(m)});
      }
  return order;
}

Order one_f_one_b(const Pipeline& p, std::int64_t rank) {
  const std::int64_t total = p.micro_batches * p.chunks_per_rank;
  const std::int64_t behind = p.ranks - 1 - rank;
  const std::int64_t warmup = std::min(
      total, p.chunks_per_rank > 1 ? 2 * behind + (p.chunks_per_rank - 1) * p.ranks : behind);
  const Order forward = in_groups(p, rank, true), backward = in_groups(p, rank, false);
  Order order(forward.begin(), forward.begin() + warmup);
  for (std::int64_t i = 0; i + warmup < total; ++i) {
    order.push_back(forward[static_cast<std::size_t>(i + warmup)]);
    order.push_back(backward[static_cast<std::size_t>(i)]);
  }
  for (std::int64_t i = std::max<std::int64_t>(total - warmup, 0); i < total; ++i)
    order.push_back(backward[static_cast<std::size_t>(i)]);
  return order;
}

Order all_forwards_first(const Pipeline& p, std::int64_t rank) {
  Order order;
  for (const char kind : {'F', 'B'})
    for (std::int64_t c = 0; c < p.chunks_per_rank; ++c)
      for (std::int64_t m = 0; m < p.micro_batches; ++m) {
        const std::int64_t chunk = kind == 'F' ? c : p.chunks_per_rank - 1 - c;
        order.push_back({kind, narrow(chunk * p.ranks + rank), narrow(m)});
      }
  return order;
}

/// ZB1P: as 1F1B, and the weights' part of a backward waits until it fills a gap: in the cooldown,
/// or as many backwards later as the rank is behind the first (Qi et al. 2023, ZB-H1).
Order zero_bubble(const Pipeline& p, std::int64_t rank) {
  Order order, waiting;
  std::size_t done = 0;
  for (const Action& action : one_f_one_b(p, rank)) {
    order.push_back(action);
    if (action.kind != 'B') continue;
    waiting.push_back({'W', action.chunk, action.micro_batch});
    if (waiting.size() - done > static_cast<std::size_t>(rank)) order.push_back(waiting[done++]);
  }
  order.insert(order.end(), waiting.begin() + static_cast<std::ptrdiff_t>(done), waiting.end());
  return order;
}

/// State of the run: when each action of each chunk is done.
class Run {
 public:
  Run(const Pipeline& p, bool slots) : p_(p), keeps_slots_(slots) {
    const auto cells = static_cast<std::size_t>(p.ranks * p.chunks_per_rank * p.micro_batches);
    forward_.assign(cells, -1);
    backward_.assign(cells, -1);
    clock_.assign(static_cast<std::size_t>(p.ranks), 0);
  }

  PipelineTime of(const std::vector<Order>& orders) {
    std::vector<std::size_t> next(orders.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < orders.size(); ++rank)
        while (next[rank] < orders[rank].size() && step(rank, orders[rank][next[rank]])) {
          ++next[rank];
          moved = true;
        }
    }
    return finish();
  }

  /// Schedules without a fixed order: each rank takes the backward that is ready, else a forward
  /// while `alive` allows, else weights (ZBV and DualPipeV by their priorities).
  PipelineTime greedy(std::int64_t alive);

 private:
  std::size_t cell(std::int64_t chunk, std::int64_t m) const {
    return static_cast<std::size_t>(chunk * p_.micro_batches + m);
  }
  double arrival(double done, std::int64_t from, std::int64_t to) const {
    return p_.rank_of(from) == p_.rank_of(to) ? done : done + p_.send;
  }
  /// When its input is there; less than 0 before that is known.
  double ready(const Action& a) const {
    const std::int64_t last = p_.ranks * p_.chunks_per_rank - 1;
    if (a.kind == 'F') {
      if (a.chunk == 0) return 0;
      const double done = forward_[cell(a.chunk - 1, a.micro_batch)];
      return done < 0 ? -1 : arrival(done, a.chunk - 1, a.chunk);
    }
    if (a.kind == 'W') return backward_[cell(a.chunk, a.micro_batch)];
    if (a.chunk == last) return forward_[cell(a.chunk, a.micro_batch)];
    const double done = backward_[cell(a.chunk + 1, a.micro_batch)];
    return done < 0 ? -1 : arrival(done, a.chunk + 1, a.chunk);
  }
  double length(const Action& a) const {
    const ChunkTime& t = p_.chunks[static_cast<std::size_t>(a.chunk)];
    return a.kind == 'F' ? t.forward : a.kind == 'B' ? t.backward : t.weights;
  }
  bool step(std::size_t rank, const Action& a) {
    const double at = ready(a);
    if (at < 0) return false;
    run(rank, a, std::max(at, clock_[rank]));
    return true;
  }
  void run(std::size_t rank, const Action& a, double start) {
    const double end = start + length(a);
    if (a.kind == 'F') forward_[cell(a.chunk, a.micro_batch)] = end;
    if (a.kind == 'B') backward_[cell(a.chunk, a.micro_batch)] = end;
    clock_[rank] = p_.overlaps_sends || a.kind == 'W' ? end : end + p_.send;
    if (keeps_slots_)
      slots_.push_back({a.kind, static_cast<std::int16_t>(rank),
                        static_cast<std::int16_t>(a.chunk / p_.ranks), a.micro_batch, start, end});
  }
  PipelineTime finish() {
    PipelineTime time;
    std::vector<double> busy(static_cast<std::size_t>(p_.ranks), 0);
    for (std::size_t c = 0; c < p_.chunks.size(); ++c) {
      const ChunkTime& t = p_.chunks[c];
      busy[static_cast<std::size_t>(p_.rank_of(static_cast<std::int64_t>(c)))] +=
          (t.forward + t.backward + t.weights) * static_cast<double>(p_.micro_batches);
    }
    time.seconds = *std::max_element(clock_.begin(), clock_.end());
    const auto most = std::max_element(busy.begin(), busy.end());
    time.slowest = most - busy.begin();
    time.busy = *most;
    time.slots = std::move(slots_);
    return time;
  }

  const Pipeline& p_;
  bool keeps_slots_;
  std::vector<double> forward_, backward_, clock_;
  std::vector<PipelineSlot> slots_;
};

PipelineTime Run::greedy(std::int64_t alive) {
  struct Next {
    std::vector<std::int64_t> forward, backward, weights;  ///< by chunk of the rank
    std::int64_t held = 0;
  };
  const auto chunks = static_cast<std::size_t>(p_.chunks_per_rank);
  std::vector<Next> next(
      static_cast<std::size_t>(p_.ranks),
      {std::vector<std::int64_t>(chunks, 0), std::vector<std::int64_t>(chunks, 0),
       std::vector<std::int64_t>(chunks, 0), 0});
  const auto model_chunk = [&](std::size_t rank, std::size_t c) {
    return c == 0 ? static_cast<std::int64_t>(rank)
                  : 2 * p_.ranks - 1 - static_cast<std::int64_t>(rank);
  };
  for (bool moved = true; moved;) {
    // The rank whose next action starts first goes on.
    moved = false;
    double best = 0;
    std::size_t best_rank = 0;
    Action best_action;
    for (std::size_t rank = 0; rank < next.size(); ++rank) {
      const Next& n = next[rank];
      double own = -1;
      Action own_action;
      const auto offer = [&](char kind, std::size_t c, std::int64_t m, double penalty) {
        const Action a{kind, narrow(model_chunk(rank, c)), narrow(m)};
        const double at = ready(a);
        if (at < 0) return;
        const double start = std::max(at, clock_[rank]) + penalty;
        if (own < 0 || start < own) {
          own = start;
          own_action = a;
        }
      };
      for (std::size_t c = chunks; c-- > 0;)
        if (n.backward[c] < p_.micro_batches) offer('B', c, n.backward[c], 0);
      for (std::size_t c = chunks; c-- > 0;)
        if (n.forward[c] < p_.micro_batches && (c > 0 || n.held < alive))
          offer('F', c, n.forward[c], 1e-12);
      for (std::size_t c = 0; c < chunks; ++c)
        if (n.weights[c] < n.backward[c]) offer('W', c, n.weights[c], 2e-12);
      if (own < 0) continue;
      if (!moved || own < best) {
        best = own;
        best_rank = rank;
        best_action = own_action;
        moved = true;
      }
    }
    if (!moved) break;
    Next& n = next[best_rank];
    const std::size_t c = best_action.chunk < p_.ranks ? 0 : 1;
    if (best_action.kind == 'F') ++n.forward[c], n.held += c == 0 ? 1 : 0;
    if (best_action.kind == 'B') ++n.backward[c], n.held -= c == 0 ? 1 : 0;
    if (best_action.kind == 'W') ++n.weights[c];
    run(best_rank, best_action, std::max(ready(best_action), clock_[best_rank]));
  }
  return finish();
}

bool is_v(PipelineSchedule schedule) {
  return schedule == PipelineSchedule::zbv || schedule == PipelineSchedule::dual_pipe_v;
}

PipelineTime run_all(const Pipeline& p, bool slots) {
  Run run(p, slots);
  if (is_v(p.schedule)) return run.greedy(2 * p.ranks);
  std::vector<Order> orders;
  for (std::int64_t rank = 0; rank < p.ranks; ++rank) switch (p.schedule) {
      case PipelineSchedule::gpipe:
      case PipelineSchedule::looped_bfs: orders.push_back(all_forwards_first(p, rank)); break;
      case PipelineSchedule::zero_bubble: orders.push_back(zero_bubble(p, rank)); break;
      default: orders.push_back(one_f_one_b(p, rank));
    }
  return run.of(orders);
}

}  // namespace

std::int64_t Pipeline::rank_of(std::int64_t chunk) const {
  if (is_v(schedule)) return chunk < ranks ? chunk : 2 * ranks - 1 - chunk;
  return chunk % ranks;
}

std::int64_t followed_micro_batches(const Pipeline& p) {
  const std::int64_t enough = 2 * p.ranks + p.micro_batches % p.ranks;
  return is_v(p.schedule) ? p.micro_batches : std::min(p.micro_batches, enough);
}

double waits_of_another(const Pipeline& p) {
  return p.overlaps_sends ? 0 : 2 * p.send * static_cast<double>(p.chunks_per_rank);
}

PipelineTime run_pipeline(const Pipeline& p, bool slots) {
  const std::int64_t followed = followed_micro_batches(p);
  if (slots || p.micro_batches == followed) return run_all(p, slots);
  Pipeline shorter = p;
  shorter.micro_batches = followed;
  PipelineTime time = run_all(shorter, false);
  const auto more = static_cast<double>(p.micro_batches - followed);
  const double one = time.busy / static_cast<double>(followed);
  time.seconds += more * (one + waits_of_another(p));
  time.busy += more * one;
  return time;
}

}  // namespace memtape::time
