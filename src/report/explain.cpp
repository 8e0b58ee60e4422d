// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "report/fold.h"
#include "report/headline.h"
#include "report/measured_step.h"

namespace memtape::report {
namespace {

constexpr Bytes kBlockStep = 512;  ///< kMinBlockSize of torch's c10/cuda/CUDACachingAllocator.cpp

/// A trunk of its parts; what they do not account for is said, so that the sum always holds.
Breakdown trunk(std::string label, Bytes bytes, std::vector<Breakdown> parts) {
  Bytes rest = bytes;
  for (const Breakdown& p : parts) rest -= p.bytes;
  if (rest != 0 && !parts.empty()) parts.push_back({"not on the tape", "", "", rest, {}});
  return {std::move(label), "", "", bytes, std::move(parts)};
}

bool larger(const Breakdown& a, const Breakdown& b) { return a.bytes > b.bytes; }

/// "14336 x 4096 bfloat16 = 117,440,512 B x 32". A block that holds more or less than its shape
/// says only its bytes.
std::string arithmetic(const Tape& tape, const Fold& fold) {
  const BlockId first = fold.blocks.front();
  const Why why = tape.why[first];
  std::int64_t elements = 1;
  for (std::uint8_t i = 0; i < why.shape.rank; ++i) elements *= why.shape.dims[i];
  const Bytes one = tape.requested[first];
  std::string text;
  if (bytes_of(why.dtype, elements) == one)
    text = fmt::format("{} {} = ", shape_product(why.shape), name(why.dtype));
  text += with_commas(one) + " B";
  if (fold.blocks.size() > 1) text += fmt::format(" x {}", fold.blocks.size());
  return text;
}

/// The autograd node that keeps an activation.
std::string kept_for(const Why& why) {
  const bool kept =
      why.category == Category::activation && why.phase == Phase::forward && why.node[0] != '\0';
  return kept ? fmt::format("kept for {}", why.node) : "";
}

/// Where the tensors are and, where the category does not say it, what made them.
std::string label_of_fold(const Tape& tape, const Fold& fold) {
  const Why why = tape.why[fold.blocks.front()];
  const std::string path = path_with_ranges(tape, fold);
  const bool of_a_weight =
      why.category == Category::parameter || why.category == Category::buffer ||
      why.category == Category::optimizer_state || why.category == Category::gradient;
  if (of_a_weight && !path.empty()) return path;
  return path.empty() ? std::string(why.op) : fmt::format("{}  {}", path, why.op);
}

/// Categories whose tensors have a tree of their own: elsewhere their sum is enough.
bool explained_above(Category c) {
  return c == Category::parameter || c == Category::buffer || c == Category::optimizer_state;
}

/// The blocks a moment holds, and the ways to take their bytes apart.
class Holdings {
 public:
  Holdings(const Trace& trace, const PathPatterns& patterns, std::vector<BlockId> blocks)
      : trace_(trace), patterns_(patterns), blocks_(std::move(blocks)) {}

  Bytes requested() const {
    Bytes sum = 0;
    for (BlockId id : blocks_) sum += trace_.tape.requested[id];
    return sum;
  }

  /// Requested bytes of one category by module and shape, largest first.
  std::vector<Breakdown> by_tensor(Category category) const {
    std::vector<BlockId> of_category;
    for (BlockId id : blocks_)
      if (trace_.tape.why.category(id) == category) of_category.push_back(id);
    std::vector<Breakdown> rows;
    for (const Fold& f : fold(trace_.tape, trace_.sizes, of_category, patterns_))
      if (f.requested != 0)
        rows.push_back({label_of_fold(trace_.tape, f),
                        arithmetic(trace_.tape, f),
                        kept_for(trace_.tape.why[f.blocks.front()]),
                        f.requested,
                        {}});
    std::stable_sort(rows.begin(), rows.end(), larger);
    return rows;
  }

  /// All requested bytes: categories, and below them tensors.
  Breakdown by_category(std::string label) const {
    std::vector<Breakdown> categories;
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      std::vector<Breakdown> rows = by_tensor(category);
      if (rows.empty()) continue;
      Bytes sum = 0;
      for (const Breakdown& r : rows) sum += r.bytes;
      const bool above = explained_above(category);
      if (above) rows.clear();
      categories.push_back(
          {std::string(kCategoryNames[i]), above ? "as above" : "", "", sum, std::move(rows)});
    }
    return trunk(std::move(label), requested(), std::move(categories));
  }

  /// What blocks hold beyond the requests: rounding to 512 B, and the tails of blocks that were not
  /// split.
  std::vector<Breakdown> beyond_requests() const {
    Breakdown rounding{"rounded up to blocks of 512 B", "", "", 0, {}},
        tails{"blocks not split", "", "", 0, {}};
    std::int64_t rounded = 0, unsplit = 0;
    for (BlockId id : blocks_) {
      const Bytes asked = trace_.tape.requested[id], size = size_in_allocator(trace_, id);
      const Bytes whole = std::min(size, std::max(kBlockStep, round_up(asked, kBlockStep)));
      rounding.bytes += whole - asked;
      tails.bytes += size - whole;
      rounded += whole != asked;
      unsplit += size != whole;
    }
    rounding.arithmetic = fmt::format("{} of {} blocks", rounded, blocks_.size());
    tails.arithmetic = fmt::format("{} blocks whose rest was at most 1 MiB", unsplit);
    std::vector<Breakdown> parts;
    if (rounding.bytes != 0) parts.push_back(std::move(rounding));
    if (tails.bytes != 0) parts.push_back(std::move(tails));
    return parts;
  }

  Breakdown allocated(Bytes bytes) const {
    std::vector<Breakdown> parts{by_category("requested")};
    for (Breakdown& e : beyond_requests()) parts.push_back(std::move(e));
    return trunk("allocated", bytes, std::move(parts));
  }

 private:
  const Trace& trace_;
  const PathPatterns& patterns_;
  std::vector<BlockId> blocks_;
};

/// The event up to which the gradients are complete: the end of the step's last backward pass.
std::size_t end_of_backward(const MeasuredStep& step) {
  std::size_t end = step.first;
  for (const Window& w : step.windows)
    if (w.mark.phase == Phase::backward) end = w.last_event;
  return end;
}

Breakdown of_category(const Holdings& holdings, Category category, std::string label, Bytes bytes) {
  return trunk(std::move(label), bytes, holdings.by_tensor(category));
}

Breakdown reserved(const Holdings& holdings, const Levels& levels, std::string label) {
  std::vector<Breakdown> parts{holdings.allocated(levels.allocated)};
  if (levels.reserved != levels.allocated)
    parts.push_back(
        {"free in segments", "reserved - allocated", "", levels.reserved - levels.allocated, {}});
  return trunk(std::move(label), levels.reserved, std::move(parts));
}

Breakdown on_the_device(const RankReport& rank, const Holdings& at_peak) {
  std::vector<Breakdown> parts;
  if (const Bytes outside = rank.peak_device_bytes - rank.peak.reserved; outside != 0)
    parts.push_back({"outside the allocator", "CUDA context, loaded kernels", "", outside, {}});
  parts.push_back(reserved(at_peak, rank.peak, "peak_reserved_bytes"));
  return trunk("peak_device_bytes", rank.peak_device_bytes, std::move(parts));
}

/// The segments behind the highest reserved level of the step, by pool and size.
Breakdown as_segments(const Trace& trace, const MeasuredStep& step, Bytes peak) {
  std::map<std::pair<bool, Bytes>, std::int64_t> held, at_peak;
  Bytes reserved = 0, highest = -1;
  for (std::size_t i = 0; i < trace.segments.size() && trace.segments[i].event < step.last; ++i) {
    const SegmentChange& change = trace.segments[i];
    held[{change.small_pool, change.size}] += change.taken ? 1 : -1;
    reserved += change.taken ? change.size : -change.size;
    const bool more_come =
        i + 1 < trace.segments.size() && trace.segments[i + 1].event < step.first;
    if (!more_come && reserved > highest) {
      highest = reserved;
      at_peak = held;
    }
  }
  std::vector<Breakdown> parts;
  for (const auto& [kind, count] : at_peak)
    if (count != 0)
      parts.push_back({kind.first ? "segments of the small pool" : "segments of the large pool",
                       fmt::format("{} B x {}", with_commas(kind.second), count),
                       "",
                       kind.second * count,
                       {}});
  std::stable_sort(parts.begin(), parts.end(), larger);
  return trunk("peak_reserved_bytes, as segments", peak, std::move(parts));
}

/// Draws the trees: labels on the left, bytes aligned on the right, the arithmetic between them
/// where it fits.
class TreeText {
 public:
  explicit TreeText(const ExplainOptions& options)
      : style_(options.style), width_(std::max(options.width, kLeastWidth)) {}

  void draw(const Breakdown& e) {
    line("", "", style_.bold(e.label), e);
    branches(e, "");
    out_ += '\n';
  }
  std::string take() && { return std::move(out_); }

 private:
  static constexpr int kNumberWidth = 19;

  void branches(const Breakdown& e, const std::string& indent) {
    for (const Breakdown& part : e.parts) {
      const bool last = &part == &e.parts.back();
      const std::string below = indent + std::string(last ? "   " : style_.pick("│  ", "|  "));
      const std::string at =
          indent + std::string(last ? style_.pick("└─ ", "`- ") : style_.pick("├─ ", "|- "));
      line(at, below, part.label, part);
      branches(part, below);
    }
  }

  void line(const std::string& at, const std::string& below, const std::string& label,
            const Breakdown& e) {
    const int room = width_ - kNumberWidth;
    const std::string left = at + (columns(at) + columns(label) > room
                                       ? shorten(label, std::max(8, room - columns(at)), style_)
                                       : label);
    const std::string bytes = pad_left(with_commas(e.bytes) + " B", kNumberWidth);
    const std::string middle =
        e.note.empty() ? e.arithmetic : fmt::format("{}, {}", e.arithmetic, e.note);
    const int gap = room - columns(left) - columns(middle);
    if (gap >= 2) {
      out_ += left + std::string(static_cast<std::size_t>(gap), ' ') +
              style_.paint(middle, kQuiet) + bytes + '\n';
      return;
    }
    out_ += pad_right(left, room) + bytes + '\n';
    const std::string indent = below + (e.parts.empty() ? "   " : "");
    for (const std::string& part : {e.arithmetic, e.note})
      for (const std::string& l : wrap(part, width_ - columns(indent)))
        out_ += indent + style_.paint(l, kQuiet) + '\n';
  }

  Style style_;
  int width_;
  std::string out_;
};

}  // namespace

std::vector<Breakdown> breakdowns(const Prediction& prediction, const Trace& trace) {
  const RankReport& rank = peak_rank(prediction);
  const MeasuredStep step = measured_step(trace);
  const PathPatterns patterns(trace.tape.scopes);
  const auto holding = [&](std::size_t events) {
    return Holdings(trace, patterns,
                    alive_before(trace.tape, std::min(events, trace.tape.events.size())));
  };
  const Holdings before = holding(step.first), with_gradients = holding(end_of_backward(step));
  std::vector<Breakdown> all;
  all.push_back(of_category(before, Category::parameter, "parameter_bytes", rank.parameter_bytes));
  all.push_back(of_category(before, Category::buffer, "buffer_bytes", rank.buffer_bytes));
  all.push_back(of_category(before, Category::optimizer_state, "optimizer_state_bytes",
                            rank.optimizer_state_bytes));
  all.push_back(
      of_category(with_gradients, Category::gradient, "gradient_bytes", rank.gradient_bytes));
  all.push_back(on_the_device(rank, holding(rank.peak_moment.event + 1)));
  if (!trace.segments.empty()) all.push_back(as_segments(trace, step, rank.peak.reserved));
  all.push_back(reserved(before, rank.steady, "steady_reserved_bytes"));
  return all;
}

std::string explain(const Prediction& prediction, const Trace& trace,
                    const ExplainOptions& options) {
  TreeText text(options);
  for (const Breakdown& e : breakdowns(prediction, trace)) text.draw(e);
  return std::move(text).take();
}

}  // namespace memtape::report
