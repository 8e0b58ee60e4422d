// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_correct.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "predict/serve_solve.h"

namespace memtape {
namespace {

using How = ServeRemedy::How;

/// The largest share that is ever advised, in per cent: what an engine does not count (the
/// executables of graphs, a sampler's first batch, other programs) takes the rest of a card.
constexpr int kMostPercent = 95;
constexpr int kLeastPercent = 10, kNext = 8;

std::string share_text(int percent) { return fmt::format("{:.2f}", percent / 100.0); }

/// A request with changes, and what they are.
struct Changed {
  ServeRequest request;
  NamedValues changes;
  int gpus = 0;
  std::vector<std::string_view> costs;

  void set(const ServeRemedy& remedy, std::string value) {
    request.options.add(remedy.flag, value);
    changes.emplace_back(std::string(remedy.flag), std::move(value));
    costs.push_back(remedy.cost);
  }
  void spread(std::int64_t times) {
    request.device.gpus = static_cast<int>(request.device.gpus * times);
    gpus = request.device.gpus;
  }
};

class Remedies {
 public:
  Remedies(const ServeEngine& engine, const ServeRequest& request)
      : engine_(engine), request_(request) {
    for (const ServeRemedy& remedy : engine.remedies)
      if (!remedy.of_given || request.options.has(remedy.flag)) {
        order_.push_back(&remedy);
        if (remedy.how == How::smallest_share) share_ = remedy.cost;
      }
    // Who chose a share keeps it if another change is enough.
    std::ranges::stable_partition(order_, [&](const ServeRemedy* remedy) {
      return remedy->how != How::smallest_share || !request.options.has(remedy->flag);
    });
    if (const Result<ServeAnswer> answer = predict_serve(engine, request)) {
      verdict_ = answer->verdict;
      cache_ = cache_of(*answer);
      for (const Setting& setting : answer->workload)
        if (setting.name == "max_model_len" || setting.name == "context_length")
          length_ = std::stoll(setting.json_value);
    }
  }

  Corrections all() {
    Corrections result;
    for (const VerdictWord word : {VerdictWord::fits, VerdictWord::may_not_fit}) {
      worst_ = word;
      if (word == VerdictWord::may_not_fit && verdict_ == word) break;  // no better than it is
      result.found = singles();
      const auto leaves = [&](bool all_gpus) {
        return std::ranges::any_of(result.found, [&](const Correction& one) {
          return is_fair(length_of(one)) && (all_gpus || one.gpus == 0);
        });
      };
      on_these_gpus_ = leaves(true);  // where more are enough alone, pairs do without
      if (!leaves(false) && is_near())
        if (std::optional<Correction> found = several())
          result.found.insert(result.found.begin(), *std::move(found));
      if (!result.found.empty()) return result;
    }
    result.nothing = nothing();
    return result;
  }

 private:
  std::vector<Correction> singles() const {
    constexpr std::size_t kMost = 3;
    std::vector<Correction> all;
    for (const ServeRemedy* remedy : order_)
      if (all.size() < kMost)
        if (std::optional<Correction> found = tried(*remedy, {request_, {}, 0, {}}))
          all.push_back(*std::move(found));
    return all;
  }

  /// Two changes, or another beside the largest share and a shorter length; what costs most last. A
  /// length that is a small part of the asked one is kept for want of a better.
  std::optional<Correction> several() const {
    std::optional<Correction> found;
    for (const bool drastic : {false, true}) {
      std::vector<Changed> one, two;
      for (const ServeRemedy* first : order_) {
        if (first->drastic != drastic || (found && first->how == How::doubled)) continue;
        if (is_left_out(*first)) continue;
        std::ranges::move(strongest(*first, {request_, {}, 0, {}}), std::back_inserter(one));
        for (const ServeRemedy* share : order_)
          if (share->how == How::smallest_share && share != first)
            for (const Changed& changed : strongest(*share, {request_, {}, 0, {}}))
              std::ranges::move(strongest(*first, changed), std::back_inserter(two));
      }
      for (const std::vector<Changed>& bases : {drastic ? two : one, drastic ? one : two}) {
        std::optional<Correction> next = beside(bases);
        if (next && (!found || length_of(*next) > length_of(*found))) found = std::move(next);
        if (found && is_fair(length_of(*found))) return found;
      }
    }
    return found;
  }

  /// The length that a correction leaves; the request's own where it leaves that.
  std::int64_t length_of(const Correction& correction) const {
    for (const ServeRemedy* remedy : order_)
      if (const std::string* value = last_value(correction.changes, remedy->flag);
          value && is_length(*remedy) && !remedy->of_given)
        return std::stoll(*value);
    return length_;
  }
  bool is_fair(std::int64_t length) const {
    constexpr std::int64_t kPart = 8;
    return length * kPart >= length_;
  }

  std::optional<Correction> beside(const std::vector<Changed>& bases) const {
    for (const Changed& base : bases)
      for (const ServeRemedy* remedy : order_)
        if (!last_value(base.changes, remedy->flag) && !is_left_out(*remedy) &&
            (base.changes.size() < 2 || is_length(*remedy)))
          if (std::optional<Correction> found = tried(*remedy, base)) return found;
    return std::nullopt;
  }

  static bool is_length(const ServeRemedy& remedy) { return remedy.how == How::largest; }

  /// A change that pairs leave out.
  bool is_left_out(const ServeRemedy& remedy) const {
    return on_these_gpus_ && remedy.how == How::doubled;
  }

  /// Whether it fits with all changes at their strongest, as far as each is possible.
  bool is_near() const {
    ServeRequest request = request_;
    bool fits = false;
    for (const ServeRemedy* remedy : order_) {
      if (is_left_out(*remedy)) continue;
      Changed base{request, {}, 0, {}};
      std::vector<Changed> more = strongest(*remedy, base);
      if (is_length(*remedy) && !remedy->of_given) {
        base.set(*remedy, std::to_string(remedy->bound));
        more.push_back(std::move(base));
      }
      if (more.empty()) continue;
      const Result<ServeAnswer> answer = predict_serve(engine_, more.back().request);
      if (!answer) continue;
      fits = answer->fits.value_or(false);
      request = std::move(more.back().request);
    }
    return fits;
  }

  /// The last of a remedy's values that this release of the engine takes.
  std::optional<std::string> last_taken(const ServeRemedy& remedy, const Changed& base) const {
    const std::vector<std::string> values = split_at_commas(remedy.text);
    for (auto value = values.rbegin(); value != values.rend(); ++value) {
      Changed changed = base;
      changed.set(remedy, *value);
      if (predict_serve(engine_, changed.request)) return *value;
    }
    return std::nullopt;
  }

  std::vector<Changed> strongest(const ServeRemedy& remedy, const Changed& base) const {
    std::vector<Changed> all;
    const auto with = [&](std::string value, std::int64_t times) {
      Changed changed = base;
      changed.set(remedy, std::move(value));
      if (times > 1) changed.spread(times);
      all.push_back(std::move(changed));
    };
    switch (remedy.how) {
      case How::smallest_share: with(share_text(kMostPercent), 1); break;
      case How::value: with(std::string(remedy.text), 1); break;
      case How::first_of:
        if (const auto value = last_taken(remedy, base)) with(*value, 1);
        break;
      case How::doubled:
        for (const auto& [value, times] : doublings(remedy)) with(std::to_string(value), times);
        break;
      case How::largest:
        if (remedy.of_given) with(std::to_string(remedy.bound), 1);
        break;
      case How::fitted: break;
    }
    return all;
  }

  std::optional<Correction> tried(const ServeRemedy& remedy, const Changed& base) const {
    switch (remedy.how) {
      case How::largest: return largest(remedy, base);
      case How::smallest_share: return smallest_share(remedy, base);
      case How::doubled: return doubled(remedy, base);
      case How::value: return with(remedy, base, std::string(remedy.text));
      case How::first_of: return first_of(remedy, base);
      case How::fitted: return fitted(remedy, base);
    }
    return std::nullopt;
  }

  /// The largest that fits plainly, as people write it: a power of two where another change is made,
  /// too, else a multiple of 1024.
  std::optional<Correction> largest(const ServeRemedy& remedy, const Changed& base) const {
    constexpr std::int64_t kRound = 1024, kSteps = 8;
    if (!remedy.of_given && !with(remedy, base, std::to_string(remedy.bound))) return std::nullopt;
    const Result<ServeAnswer> answer = solve_serve(engine_, base.request, remedy.flag);
    if (!answer || !answer->solved) return std::nullopt;
    std::int64_t value = std::stoll(answer->solved->value);
    if (!base.changes.empty())
      value = static_cast<std::int64_t>(std::bit_floor(std::uint64_t(value)));
    while (value > remedy.bound) {
      if (auto found = with(remedy, base, std::to_string(value - value % kRound))) return found;
      value -= base.changes.empty() ? std::max(value / kSteps, kRound) : value / 2;
    }
    return with(remedy, base, std::to_string(remedy.bound));
  }

  /// A larger share leaves more for the cache: the smallest one with which that is enough, or one
  /// of the next, where the bounds of what else is needed are within it, too.
  std::optional<Correction> smallest_share(const ServeRemedy& remedy, const Changed& base) const {
    const auto lacks_cache = [&](int percent) {
      Changed changed = base;
      changed.set(remedy, share_text(percent));
      const Result<ServeAnswer> answer = predict_serve(engine_, changed.request);
      return !answer || (!answer->fits.value_or(false) && answer->headroom_bytes.value_or(0) >= 0);
    };
    if (lacks_cache(kMostPercent)) return std::nullopt;
    int enough = kMostPercent, less = kLeastPercent;
    while (enough - less > 1) {
      const int middle = (enough + less) / 2;
      (lacks_cache(middle) ? less : enough) = middle;
    }
    for (const int most = std::min(enough + kNext, kMostPercent); enough <= most; ++enough)
      if (auto found = with(remedy, base, share_text(enough))) return found;
    return std::nullopt;
  }

  /// Twice as many and more, with how many times the GPUs.
  std::vector<std::pair<std::int64_t, std::int64_t>> doublings(const ServeRemedy& remedy) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    const auto given = request_.options.integer(remedy.flag, 1, {1, remedy.bound});
    if (!given) return all;
    for (std::int64_t times = 2; *given * times <= remedy.bound; times *= 2)
      all.emplace_back(*given * times, times);
    return all;
  }

  std::optional<Correction> doubled(const ServeRemedy& remedy, const Changed& base) const {
    for (const auto& [value, times] : doublings(remedy)) {
      Changed changed = base;
      changed.spread(times);
      if (auto found = with(remedy, changed, std::to_string(value))) return found;
    }
    return std::nullopt;
  }

  std::optional<Correction> first_of(const ServeRemedy& remedy, const Changed& base) const {
    for (const std::string& value : split_at_commas(remedy.text))
      if (auto found = with(remedy, base, value)) return found;
    return std::nullopt;
  }

  std::optional<Correction> fitted(const ServeRemedy& remedy, const Changed& base) const {
    ServeRequest request = base.request;
    request.options.add(remedy.flag, "");
    const Result<ServeAnswer> answer = predict_serve(engine_, request);
    if (!answer || answer->fitted.empty()) return std::nullopt;
    Changed changed = base;
    for (const auto& [flag, value] : answer->fitted) {
      changed.request.options.add(flag, value);
      changed.changes.emplace_back(flag, value);
    }
    changed.costs.push_back(remedy.cost);
    return answered(std::move(changed));
  }

  std::optional<Correction> with(const ServeRemedy& remedy, Changed changed,
                                 std::string value) const {
    const std::string* given = changed.request.options.find(remedy.flag);
    if (given && *given == value) return std::nullopt;
    changed.set(remedy, std::move(value));
    return answered(std::move(changed));
  }

  /// A plain "fits" is advice; where there is none, what may fit in place of what does not.
  std::optional<Correction> answered(Changed changed) const {
    const Result<ServeAnswer> answer = predict_serve(engine_, changed.request);
    if (!answer || !answer->verdict || *answer->verdict > worst_) return std::nullopt;
    std::vector<std::string> words;
    for (const auto& [flag, value] : changed.changes)
      words.push_back(fmt::format("--{}{}{}", flag, value.empty() ? "" : " ", value));
    Bytes peak = 0;
    for (const ServeRank& rank : answer->ranks) peak = std::max(peak, rank.peak_device_bytes);
    std::string cost = fmt::format("{}", fmt::join(changed.costs, ", and "));
    if (cache_of(*answer) < cache_ && changed.changes.size() == 1 &&
        changed.costs.front() == share_)
      cost = "fewer tokens in the cache";
    if (*answer->verdict == VerdictWord::may_not_fit)
      cost += "; with what is not known exactly it may still not fit";
    return Correction{std::move(changed.changes),
                      changed.gpus,
                      {fmt::format("{}", fmt::join(words, " ")), {}, peak, std::move(cost)}};
  }

  static Bytes cache_of(const ServeAnswer& answer) {
    return answer.ranks.empty() ? 0 : answer.ranks.front().kv_cache.bytes;
  }

  std::string nothing() const {
    std::vector<std::string> flags;
    for (const ServeRemedy* remedy : order_) flags.push_back(fmt::format("--{}", remedy->flag));
    return fmt::format(
        "nothing here makes it fit (tried{}: {}): it takes larger GPUs, or more of them, or a "
        "smaller "
        "model",
        flags.size() > 1 ? " alone and in pairs" : "", fmt::join(flags, ", "));
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
  std::vector<const ServeRemedy*> order_;
  std::optional<VerdictWord> verdict_;  ///< of the request as it is
  Bytes cache_ = 0;                     ///< what it has then
  std::int64_t length_ = 0;             ///< and the longest request
  std::string_view share_;              ///< what a larger share costs
  VerdictWord worst_ = VerdictWord::fits;
  bool on_these_gpus_ = false;  ///< pairs do without more GPUs
};

}  // namespace

Corrections correct_serve(const ServeEngine& engine, const ServeRequest& request) {
  return Remedies(engine, request).all();
}

}  // namespace memtape
