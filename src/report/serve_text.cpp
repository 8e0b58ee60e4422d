// SPDX-License-Identifier: Apache-2.0
#include "report/serve_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "report/headline.h"
#include "report/text_page.h"

namespace memtape::report {
namespace {

constexpr int kServeNumberWidth = 11;

const ServeRank& fullest_rank(const ServeAnswer& answer) {
  static const ServeRank kNone;
  const auto at = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  return at == answer.ranks.end() ? kNone : *at;
}

class ServeReport : public TextPage {
 public:
  ServeReport(const ServeAnswer& answer, const ServeTextOptions& options)
      : TextPage(options.style, options.width,
                 std::max(fullest_rank(answer).peak_device_bytes, answer.model.weight_bytes),
                 kServeNumberWidth),
        a_(answer),
        rank_(fullest_rank(answer)) {}

  std::string take() && {
    TextPage::headline(
        a_.model.id, {a_.engine},
        a_.model.parameters > 0 ? with_commas(a_.model.parameters) + " parameters" : "",
        settings());
    verdict();
    advice();
    parts();
    cache();
    buffers();
    ranks();
    remarks();
    return std::move(*this).TextPage::take();
  }

 private:
  std::vector<std::string> settings() const {
    std::vector<std::string> words;
    for (const auto& settings : {a_.workload, a_.mesh})
      for (const Setting& s : settings) {
        if (s.json_value == "null" || s.json_value == "false") continue;
        const std::string_view v = s.json_value;
        words.push_back(
            fmt::format("{} {}", s.name, v.front() == '"' ? v.substr(1, v.size() - 2) : v));
      }
    return words;
  }

  bool fails_in_loading() const { return a_.loading && !a_.loading->failure.empty(); }

  void verdict() {
    if (a_.device && fails_in_loading()) return fails_loading();
    if (a_.device && !a_.failure.empty() && a_.headroom_bytes.value_or(0) >= 0) {
      fails_within();
    } else if (a_.device) {
      TextPage::verdict(a_.verdict.value_or(VerdictWord::fits), false, rank_.peak_device_bytes,
                        *a_.device, a_.headroom_bytes.value_or(0), device_bar(rank_));
    } else if (!a_.ranks.empty()) {
      line("  " + style_.bold(with_unit(rank_.peak_device_bytes)) + " on the device");
    } else {
      line("  " + style_.bold(with_unit(a_.model.weight_bytes)) + " of weights");
    }
    if (!a_.failure.empty() && a_.headroom_bytes.value_or(-1) < 0)
      paragraph(a_.failure, kIndent, kBad);
    if (a_.failure.empty() && a_.verdict == VerdictWord::may_not_fit && !a_.doubt.empty())
      paragraph(a_.doubt, kIndent, kBad);
  }

  /// The bar is that of a server that would get through.
  void fails_loading() {
    paragraph(fmt::format("{} while loading: {} of {} on {}", name(VerdictWord::does_not_fit),
                          unit_.text(a_.loading->peak_bytes), with_unit(a_.device->total_bytes),
                          a_.device->name),
              kIndent, kBad);
    paragraph(a_.loading->failure, kIndent, kBad);
    bar_line(device_bar(rank_));
    line(fmt::format("  {} once it is loaded", with_unit(rank_.peak_device_bytes)));
  }

  /// What lacks room is not the GPU's memory as a whole.
  void fails_within() {
    paragraph(fmt::format("{}: {}", name(VerdictWord::does_not_fit), a_.failure), kIndent, kBad);
    bar_line(device_bar(rank_));
    line(fmt::format("  {} of {} on {}", unit_.text(rank_.peak_device_bytes),
                     with_unit(a_.device->total_bytes), a_.device->name));
  }

  /// The whole device as one bar, what is free at its end.
  std::string device_bar(const ServeRank& rank) const {
    const Bytes full = std::max(a_.device->total_bytes, rank.peak_device_bytes);
    std::vector<Portion> portions = portions_of(rank.at_peak);
    portions.push_back({full - rank.at_peak.total(), style_.pick("╌", "-"), kQuiet});
    return TextPage::device_bar(portions, full);
  }

  void parts() {
    if (a_.ranks.empty()) return;
    head("on the device", pad_left(std::string(unit_.name), kServeNumberWidth));
    for (std::size_t i = 0; i < kCategories; ++i) {
      const auto category = static_cast<Category>(i);
      if (rank_.at_peak[category] == 0) continue;
      line(pad_right("  " + style_.paint(style_.fill(category), ink(category)) + " " +
                         std::string(name(category)),
                     kLabelWidth) +
           number(rank_.at_peak[category]));
    }
    line(style_.bold(pad_right("  in all", kLabelWidth) + number(rank_.peak_device_bytes)));
    if (a_.loading && a_.loading->peak_bytes > rank_.peak_device_bytes)
      line(pad_right("  while loading", kLabelWidth) + number(a_.loading->peak_bytes));
  }

  void cache() {
    const KvCache& kv = rank_.kv_cache;
    if (kv.tokens == 0 && kv.layers.empty()) return;
    head("KV cache", pad_left(std::string(unit_.name), kServeNumberWidth) + pad_left("layers", 8) +
                         pad_left("tokens", 12) + pad_left("per token", 12));
    for (const KvGroup& group : kv.layers)
      line(pad_right("  " + group.kind, kLabelWidth) + number(group.bytes) +
           pad_left(std::to_string(group.layers), 8) +
           pad_left(group.tokens > 0 ? with_commas(group.tokens) : "", 12) +
           pad_left(group.bytes_per_token > 0 ? human_bytes(group.bytes_per_token) : "", 12));
    std::string all = fmt::format("{} tokens", with_commas(kv.tokens));
    if (kv.num_blocks > 0)
      all += fmt::format(" in {} blocks of {}", with_commas(kv.num_blocks), kv.block_size);
    if (kv.max_concurrency)
      all += fmt::format("; {:.2f} requests of the full context at a time", *kv.max_concurrency);
    paragraph(all, kIndent, kQuiet);
  }

  void buffers() {
    if (a_.buffers.empty()) return;
    head("buffers", pad_left("model", kServeNumberWidth) + pad_left("context", kServeNumberWidth) +
                        pad_left("compute", kServeNumberWidth) + fmt::format("   {}", unit_.name));
    for (const BufferBytes& b : a_.buffers)
      line(pad_right("  " + b.name, kLabelWidth) + number(b.model) + number(b.context) +
           number(b.compute));
  }

  void ranks() {
    if (a_.ranks.size() < 2) return;
    head("per rank",
         pad_left("device", kServeNumberWidth) + pad_left("weights", kServeNumberWidth) +
             pad_left("KV cache", kServeNumberWidth) + fmt::format("   {}", unit_.name));
    for (const ServeRank& r : a_.ranks) {
      const std::string more =
          r.ranks.size() > 1 ? fmt::format(" and {} more", r.ranks.size() - 1) : "";
      line(pad_right(fmt::format("  rank {}{}", r.ranks.empty() ? 0 : r.ranks.front(), more),
                     kLabelWidth) +
           number(r.peak_device_bytes) + number(r.weights_bytes) + number(r.kv_cache.bytes));
      if (a_.device) bar_line(device_bar(r));
    }
  }

  void remarks() {
    if (!a_.notes.empty()) blank();
    for (const std::string& note : a_.notes) paragraph(note, kIndent);
    bounds_and_warnings(a_.bounds, a_.warnings);
  }

  void advice() {
    TextPage::advice_that_fits(a_.advice);
    if (a_.nothing_helps.empty()) return;
    blank();
    paragraph(a_.nothing_helps, kIndent);
  }

  const ServeAnswer& a_;
  const ServeRank& rank_;
};

}  // namespace

std::string text(const ServeAnswer& answer, const ServeTextOptions& options) {
  return ServeReport(answer, options).take();
}

std::string quiet_text(const ServeAnswer& answer) {
  const ServeRank& rank = fullest_rank(answer);
  const std::string solved =
      answer.solved ? fmt::format(" --{} {}", answer.solved->flag, answer.solved->value) : "";
  QuietLine line{fmt::format("{} ({}{})", answer.model.id, answer.engine, solved),
                 answer.ranks.empty() ? answer.model.weight_bytes : rank.peak_device_bytes};
  if (answer.device) {
    line.total = answer.device->total_bytes;
    line.verdict = name(answer.verdict.value_or(VerdictWord::fits));
    line.room = answer.failure.empty() ? answer.headroom_bytes : std::nullopt;
    line.reason = answer.failure;
  }
  return line.text();
}

}  // namespace memtape::report
