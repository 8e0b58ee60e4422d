// SPDX-License-Identifier: Apache-2.0
#include "ggml/graph_allocator.h"

#include <algorithm>
#include <limits>

namespace memtape::ggml {
namespace {

constexpr Bytes kEndless = std::numeric_limits<Bytes>::max() / 2;

bool can_work_in_place(Op op) {
  switch (op) {
    case Op::fill:
    case Op::scale:
    case Op::add:
    case Op::add_id:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::sqr:
    case Op::sqrt:
    case Op::unary:
    case Op::rope:
    case Op::rms_norm:
    case Op::clamp:
    case Op::soft_max: return true;
    default: return false;
  }
}

/// The holes of one buffer by address; the last is without end.
class Arena {
 public:
  explicit Arena(Bytes alignment) : alignment_(alignment) {}

  Bytes alignment() const { return alignment_; }
  Bytes high() const { return high_; }

  Bytes take(Bytes size) {
    size = round_up(size, alignment_);
    const std::size_t at = best_fit(size);
    Hole& hole = holes_[at];
    const Bytes offset = hole.offset;
    hole.offset += size;
    hole.size -= size;
    if (hole.size == 0) holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(at));
    high_ = std::max(high_, offset + size);
    return offset;
  }

  void give(Bytes offset, Bytes size) {
    size = round_up(size, alignment_);
    for (std::size_t i = 0; i < holes_.size(); ++i) {
      if (holes_[i].offset + holes_[i].size == offset) {
        holes_[i].size += size;
        if (i + 1 < holes_.size()) join(i);
        return;
      }
      if (offset + size == holes_[i].offset) {
        holes_[i].offset = offset;
        holes_[i].size += size;
        if (i > 0) join(i - 1);
        return;
      }
    }
    // one after the other, as ggml-alloc looks: holes of no size may have left them unsorted
    const auto at = std::ranges::find_if(holes_, [&](const Hole& h) { return h.offset >= offset; });
    holes_.insert(at, {offset, size});
  }

 private:
  struct Hole {
    Bytes offset, size;
  };

  std::size_t best_fit(Bytes size) const {
    std::size_t best = holes_.size() - 1;
    Bytes smallest = kEndless;
    for (std::size_t i = 0; i + 1 < holes_.size(); ++i)
      if (holes_[i].size >= size && holes_[i].size <= smallest) {
        best = i;
        smallest = holes_[i].size;
      }
    return best;
  }

  /// Joins a hole with the next where they touch.
  void join(std::size_t i) {
    if (holes_[i].offset + holes_[i].size != holes_[i + 1].offset) return;
    holes_[i].size += holes_[i + 1].size;
    holes_.erase(holes_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }

  Bytes alignment_, high_ = 0;
  std::vector<Hole> holes_{{0, kEndless}};
};

/// What is known about a tensor while the graph is walked.
struct Life {
  int children = 0, views = 0;
  int buffer = 0;
  Bytes offset = 0;
  bool owned = false;  ///< has a place of its own now
};

class Walk {
 public:
  explicit Walk(const AllocationPlan& plan)
      : plan_(plan), lives_(static_cast<std::size_t>(plan.tensors)) {
    for (const BufferType* type : plan.buffers) {
      const auto same = std::ranges::find(plan.buffers, type);
      arena_of_.push_back(static_cast<std::size_t>(same - plan.buffers.begin()));
      arenas_.emplace_back(type->alignment());
    }
  }

  std::vector<Bytes> run() {
    for (const Placed& leaf : plan_.leafs) allocate(leaf.tensor, leaf.buffer);
    for (const Placed& node : plan_.nodes) count(node);
    for (const Placed& node : plan_.nodes) compute(node);
    std::vector<Bytes> sizes;
    for (std::size_t i = 0; i < arena_of_.size(); ++i)
      sizes.push_back(arena_of_[i] == i ? arenas_[i].high() : 0);
    return sizes;
  }

 private:
  Life& life(const Tensor* t) { return lives_[static_cast<std::size_t>(t->id)]; }
  Arena& arena(int buffer) { return arenas_[arena_of_[static_cast<std::size_t>(buffer)]]; }
  Bytes size_in(const Tensor& t, int buffer) const {
    return plan_.buffers[static_cast<std::size_t>(buffer)]->alloc_size(t);
  }

  void count(const Placed& placed) {
    Tensor* node = placed.tensor;
    if (node->is_view() && node->op != Op::none) ++life(node->view_src).views;
    if (node->input) allocate(node, placed.buffer);
    for (Tensor* source : node->src) {
      if (!source) continue;
      ++life(source).children;
      if (source->input) allocate(source, placed.buffer);
    }
  }

  void compute(const Placed& placed) {
    for (Tensor* source : placed.tensor->src)
      if (source) allocate(source, placed.buffer);
    allocate(placed.tensor, placed.buffer);
    for (Tensor* source : placed.tensor->src)
      if (source) leave(source);
  }

  void allocate(Tensor* t, int buffer) {
    Life& own = life(t);
    if (t->buffer || own.owned || t->is_view()) return;
    own.owned = true;
    if (can_work_in_place(t->op) && take_over(t, own)) return;
    own.buffer = buffer;
    own.offset = arena(buffer).take(size_in(*t, buffer));
  }

  /// The place of the first source that nobody else needs any more; a view has none to give.
  bool take_over(Tensor* t, Life& own) {
    for (Tensor* parent : t->src) {
      if (!parent || parent->output || !same_layout(*t, *parent)) continue;
      Life& of_parent = life(parent);
      if (!of_parent.owned || of_parent.children != 1 || of_parent.views != 0) continue;
      own.buffer = of_parent.buffer;
      own.offset = of_parent.offset;
      of_parent.owned = false;
      give_rest(*parent, of_parent, size_in(*t, own.buffer));
      return true;
    }
    return false;
  }

  /// What the new tenant does not need.
  void give_rest(const Tensor& base, const Life& place, Bytes needed) {
    Arena& of = arena(place.buffer);
    const Bytes had = round_up(size_in(base, place.buffer), of.alignment());
    needed = round_up(needed, of.alignment());
    if (had > needed) of.give(place.offset + needed, had - needed);
  }

  void leave(Tensor* source) {
    Life& own = life(source);
    --own.children;
    if (own.children != 0 || own.views != 0) return;
    if (!source->is_view()) return free(source);
    Life& base = life(source->view_src);
    --base.views;
    if (base.views == 0 && base.children == 0) free(source->view_src);
  }

  void free(Tensor* t) {
    Life& own = life(t);
    if (!own.owned || t->output) return;
    arena(own.buffer).give(own.offset, size_in(*t, own.buffer));
    own.owned = false;
  }

  const AllocationPlan& plan_;
  std::vector<Life> lives_;
  std::vector<std::size_t> arena_of_;
  std::vector<Arena> arenas_;
};

}  // namespace

std::vector<Bytes> reserve(const AllocationPlan& plan) { return Walk(plan).run(); }

}  // namespace memtape::ggml
