// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "report/headline.h"
#include "report/in_flight.h"
#include "report/picture.h"
#include "report/rank_grid.h"
#include "report/text_page.h"

namespace memtape::report {
namespace {

constexpr int kRankNumberWidth = 10;  ///< of a number in GiB
/// Where the notes behind numbers begin.
constexpr int kNotesAt = TextPage::kLabelWidth + kRankNumberWidth + 12;
constexpr Bytes kLeastShown =
    100;  ///< a category of less than a hundredth of the unit has no row of its own

class TextReport : public TextPage {
 public:
  TextReport(const Prediction& prediction, const Trace* trace, const TextOptions& options)
      : TextPage(options.style, options.width, peak_rank(prediction).peak_device_bytes,
                 kRankNumberWidth),
        p_(prediction),
        rank_(peak_rank(prediction)),
        trace_(trace),
        options_(options) {}

  std::string take() && {
    headline();
    verdict();
    TextPage::advice_that_fits(p_.advice);
    if (!p_.nothing_helps.empty()) paragraph(p_.nothing_helps, kIndent, kBad);
    draw();
    at_peak();
    phases();
    ranks();
    outside();
    largest();
    TextPage::advice_that_helps(p_.advice);
    bounds_and_warnings(p_.bounds, p_.warnings);
    return std::move(*this).TextPage::take();
  }

 private:
  void headline() {
    const bool adapters = p_.model.trainable_parameters != p_.model.parameters;
    std::string right = with_commas(p_.model.parameters) +
                        (p_.model.of_one_rank ? " parameters on a rank" : " parameters");
    if (adapters)
      right += fmt::format(", {} trainable", with_commas(p_.model.trainable_parameters));
    TextPage::headline(p_.model.id, taken_in_words(p_.workload), right, settings_in_words(p_));
  }

  void verdict() {
    if (p_.device) {
      const Bytes room =
          p_.headroom_bytes.value_or(p_.device->total_bytes - rank_.peak_device_bytes);
      TextPage::verdict(p_.verdict.value_or(VerdictWord::fits), p_.within_limit_bytes.has_value(),
                        needed(p_), *p_.device, room, device_bar());
      if (const auto needed = before_the_step(p_))
        paragraph(fmt::format("{} takes {}; a step afterwards takes {}, as below.",
                              p_.failure->phase == Phase::init ? "Making the model"
                                                               : "What comes before it",
                              with_unit(*needed), with_unit(rank_.peak_device_bytes)),
                  kIndent);
      else if (p_.within_limit_bytes)
        paragraph(fmt::format("The allocator has to give cached segments back on the way: without "
                              "the limit it would hold {}, as below.",
                              with_unit(rank_.peak_device_bytes)),
                  kIndent);
    } else {
      line("  " + style_.bold(with_unit(rank_.peak_device_bytes)) +
           " on the device at the peak of a step");
    }
    if (p_.verdict == VerdictWord::may_not_fit && !p_.bounds.has_upper_end)
      paragraph(fmt::format("It needs {} at least, and no upper end is known. What decides: {}.",
                            with_unit(p_.bounds.low_bytes), fmt::join(p_.bounds.causes, "; ")),
                kIndent);
    else if (p_.verdict == VerdictWord::may_not_fit)
      paragraph(fmt::format("It needs between {} and {}. What decides: {}.",
                            unit_.text(p_.bounds.low_bytes), with_unit(p_.bounds.high_bytes),
                            fmt::join(p_.bounds.causes, "; ")),
                kIndent);
    if (p_.failure) paragraph(failure_in_words(*p_.failure), kIndent, kBad);
  }

  /// The whole device as one bar: categories at the peak, what the allocator holds beyond them
  /// (within the limit, where cached segments go back), context, free.
  std::string device_bar() const {
    const Bytes held = p_.within_limit_bytes.value_or(rank_.peak_device_bytes);
    const Bytes outside = rank_.peak_device_bytes - rank_.peak.reserved;
    const Bytes full = std::max(p_.device->total_bytes, held);
    std::vector<Portion> portions = portions_of(rank_.at_peak);
    portions.push_back(
        {std::max<Bytes>(held - outside - rank_.peak.allocated, 0), style_.pick("·", "."), kQuiet});
    portions.push_back({outside, style_.fill(Category::context), ink(Category::context)});
    portions.push_back({full - held, style_.pick("╌", "-"), kQuiet});
    return TextPage::device_bar(portions, full);
  }

  void draw() {
    if (!trace_) return;
    PictureOptions o{width_, 8, style_, {}};
    if (p_.device)
      o.limit = p_.device->total_bytes - (rank_.peak_device_bytes - rank_.peak.reserved);
    const std::vector<std::string> lines = picture(*trace_, o);
    if (lines.empty()) return;
    blank();
    for (const std::string& l : lines) line(l);
  }

  void at_peak() {
    head("at the peak",
         pad_left(std::string(unit_.name), kRankNumberWidth) + pad_left("share", 10));
    Bytes most = 1;
    for (Bytes b : rank_.at_peak.bytes) most = std::max(most, b);
    Bytes rest = 0;
    std::vector<std::string_view> small;
    for (std::size_t i = 0; i < kCategories; ++i) {
      const Bytes bytes = rank_.at_peak.bytes[i];
      if (bytes >= unit_.size / kLeastShown) category_row(static_cast<Category>(i), most);
      if (bytes == 0 || bytes >= unit_.size / kLeastShown) continue;
      rest += bytes;
      small.push_back(kCategoryNames[i]);
    }
    if (!small.empty())
      line(pad_right("    less each", kLabelWidth) + number(rest) + "            " +
           style_.paint(
               shorten(fmt::format("{}", fmt::join(small, ", ")), width_ - kNotesAt, style_),
               kQuiet));
    rule();
    total_row("allocated", rank_.peak.allocated, "live blocks");
    total_row("reserved beyond it", rank_.peak.reserved - rank_.peak.allocated,
              "segments' free space");
    total_row("outside the allocator", rank_.peak_device_bytes - rank_.peak.reserved,
              "CUDA context, kernels");
    line(style_.bold(pad_right("  on the device", kLabelWidth) + number(rank_.peak_device_bytes)) +
         "            " + style_.paint(what_the_sum_is(), kQuiet));
    peak_moment();
  }

  std::string_view what_the_sum_is() const {
    if (rank_.peak_device_bytes == rank_.peak.reserved) return "without a CUDA context";
    if (before_the_step(p_)) return "of a step, once there is a model";
    return p_.within_limit_bytes ? "without the limit" : "as nvidia-smi shows it";
  }

  void category_row(Category category, Bytes most) {
    const Bytes bytes = rank_.at_peak[category];
    const double share = 100.0 * static_cast<double>(bytes) /
                         static_cast<double>(std::max<Bytes>(rank_.peak.allocated, 1));
    const int room = width_ - kNotesAt - kIndent;
    const auto length = static_cast<std::int64_t>(static_cast<double>(bytes) /
                                                  static_cast<double>(most) * room * 8);
    line(pad_right("  " + style_.paint(style_.fill(category), ink(category)) + " " +
                       std::string(name(category)),
                   kLabelWidth) +
         number(bytes) + pad_left(fmt::format("{:.1f} %", share), 10) + "  " +
         style_.paint(bar(length, style_), ink(category)));
  }

  void rule() {
    std::string dashes;
    for (int i = 0; i < kLabelWidth + kRankNumberWidth - kIndent; ++i)
      dashes += style_.pick("─", "-");
    line("  " + style_.paint(dashes, kQuiet));
  }

  void total_row(std::string_view label, Bytes bytes, std::string_view note) {
    line(pad_right(fmt::format("  {}", label), kLabelWidth) + number(bytes) + "            " +
         style_.paint(note, kQuiet));
  }

  void peak_moment() {
    const PeakMoment& at = rank_.peak_moment;
    std::string text = fmt::format("The peak is in {}", name(rank_.peak_phase));
    if (const std::string where = op_in_module(at.op, at.module); !where.empty())
      text += ", at " + where;
    if (!at.node.empty()) text += fmt::format(" ({})", at.node);
    blank();
    paragraph(text + ".", kIndent);
  }

  void phases() {
    if (rank_.phases.empty()) return;
    head("over the step", pad_left("requested", kRankNumberWidth) + pad_left("allocated", 12) +
                              pad_left("reserved", 12) + fmt::format("   {}", unit_.name));
    for (const PhaseReport& p : rank_.phases)
      levels_row(name(p.phase), p.peak, p.phase == rank_.peak_phase);
    levels_row("between steps", rank_.steady, false);
    held({"parameters", rank_.parameter_bytes}, {"optimizer state", rank_.optimizer_state_bytes});
    held({"buffers", rank_.buffer_bytes}, {"gradients", rank_.gradient_bytes});
  }

  struct Figure {
    std::string_view what;
    Bytes bytes;
  };

  /// Two figures side by side, each in a unit of its own.
  void held(Figure left, Figure right) {
    std::string row;
    for (const auto& [what, bytes] : {left, right})
      row += pad_right(fmt::format("  {}", what), kLabelWidth - 6) +
             pad_left(human_bytes(bytes), 14) + "  ";
    line(style_.paint(row, kQuiet));
  }

  void levels_row(std::string_view label, const Levels& levels, bool is_peak) {
    const std::string row = pad_right(fmt::format("  {}", label), kLabelWidth) +
                            number(levels.requested) + pad_left(unit_.text(levels.allocated), 12) +
                            pad_left(unit_.text(levels.reserved), 12);
    line(is_peak ? style_.bold(row) + "   " + std::string(style_.pick("◂ peak", "< peak")) : row);
  }

  void ranks() {
    if (p_.ranks.size() < 2) return;
    head("per rank",
         pad_left("device", kRankNumberWidth) + pad_left("allocated", 12) + pad_left("steady", 12));
    for (const RankReport& r : p_.ranks) {
      const std::string many = r.ranks.size() > 1 ? fmt::format(" +{}", r.ranks.size() - 1) : "";
      line(pad_right(shorten(fmt::format("  stage {}, rank {}{}", r.stage,
                                         r.ranks.empty() ? 0 : r.ranks[0], many),
                             kLabelWidth, style_),
                     kLabelWidth) +
           number(r.peak_device_bytes) + pad_left(unit_.text(r.peak.allocated), 12) +
           pad_left(unit_.text(r.steady.allocated), 12));
    }
    grid();
  }

  /// The same ranks as a picture.
  void grid() {
    constexpr int kStageWidth = 10;
    const auto cells = static_cast<std::size_t>(width_ - 2 * kIndent - kStageWidth);
    const RankGrid ranks = rank_grid(p_.ranks, cells);
    const std::string share =
        ranks.ranks_per_cell > 1 ? fmt::format(", {} a cell", ranks.ranks_per_cell) : "";
    head("ranks by their peak",
         fmt::format("{} to {}{}", unit_.text(ranks.lowest), with_unit(ranks.highest), share));
    for (const std::string& row : text_lines(ranks, style_)) line("  " + row);
    schedule();
  }

  /// What each stage of a pipeline runs, and in which order.
  void schedule() {
    constexpr int kStageWidth = 12, kAliveWidth = 6;
    const std::vector<StageSchedule> stages = stage_schedules(p_.ranks);
    if (stages.empty()) return;
    head("the schedule", "forwards and backwards of micro-batches; alive at most");
    for (const StageSchedule& stage : stages)
      line(pad_right(fmt::format("  stage {}", stage.stage), kStageWidth) +
           pad_right(shorten(stage.passes, width_ - kStageWidth - kAliveWidth, style_),
                     width_ - kStageWidth - kAliveWidth) +
           pad_left(std::to_string(stage.most_alive), kAliveWidth - 1));
  }

  /// What the allocator does not know of, where there is more than the context.
  void outside() {
    if (rank_.outside.size() < 2) return;
    head("outside the allocator", pad_left("counted", kRankNumberWidth) + pad_left("at least", 12) +
                                      pad_left("at most", 12));
    for (const OutsideMemory& item : rank_.outside)
      line(pad_right(shorten("  " + item.what, kLabelWidth, style_), kLabelWidth) +
           number(item.counted_bytes) + pad_left(unit_.text(item.low_bytes), 12) +
           pad_left(unit_.text(item.high_bytes), 12));
  }

  void largest() {
    if (rank_.largest.empty()) return;
    constexpr int kCountWidth = 6;
    const int text_width = width_ - kCountWidth - kRankNumberWidth;
    blank();
    line(pad_right("  " + style_.bold("largest at the peak"), text_width) +
         style_.paint(
             pad_left("count", kCountWidth) + pad_left(std::string(unit_.name), kRankNumberWidth),
             kQuiet));
    for (std::size_t i = 0; i < std::min(options_.largest, rank_.largest.size()); ++i) {
      const LargestTensor& t = rank_.largest[i];
      const std::string what = fmt::format(" {} {}", shape_text(t.shape), t.dtype);
      const std::string module = shorten(t.module.empty() ? t.op : t.module,
                                         std::max(12, text_width - 4 - columns(what)), style_);
      line(pad_right(
               "  " + style_.paint(style_.fill(t.category), ink(t.category)) + " " + module + what,
               text_width) +
           pad_left(std::to_string(t.count), kCountWidth) + number(t.bytes));
      paragraph(t.why, 4, kQuiet);
    }
  }

  const Prediction& p_;
  const RankReport& rank_;
  const Trace* trace_;
  const TextOptions& options_;
};

}  // namespace

std::string text(const Prediction& prediction, const Trace* trace, const TextOptions& options) {
  return TextReport(prediction, trace, options).take();
}

std::string quiet_text(const Prediction& p) {
  QuietLine line{fmt::format("{} ({})", p.model.id, fmt::join(taken_in_words(p.workload), ", ")),
                 needed(p)};
  if (p.device) line.total = p.device->total_bytes;
  if (p.verdict) line.verdict = verdict_in_words(p);
  line.room = p.headroom_bytes;
  return line.text();
}

}  // namespace memtape::report
