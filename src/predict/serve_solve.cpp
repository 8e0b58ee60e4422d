// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_solve.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "ghost/own_limits.h"
#include "predict/serve_question.h"
#include "predict/serve_scale.h"

namespace memtape {
namespace {

/// What a run of this many allocations takes is a fraction of a second.
constexpr std::size_t kMostPlayed = 2'500'000;

/// What came of one position of the scale.
struct Probe {
  bool fits = false, played = true;
  std::optional<Bytes> headroom;  ///< negative where it does not fit
  std::size_t allocations = 0;
  std::string why_not;
};

/// Neighbouring positions with which the server fits.
struct Range {
  std::int64_t first = 0, last = 0;
};

class ServeSearch {
 public:
  ServeSearch(const ServeEngine& engine, const ServeRequest& request, const Scale& scale)
      : engine_(engine), request_(request), scale_(scale) {}

  Result<ServeAnswer> run() {
    scan();
    if (no_gpu_)
      return bad_input("no GPU takes part", fmt::format("--solve {}", scale_.flag),
                       "say how much host memory there is: --host-memory-bytes N");
    if (std::ranges::none_of(probes_, [](const auto& p) { return p.second.fits; }))
      return nothing_fits();
    find_ranges();
    const bool fewest = scale_.kind == Scale::Kind::ranks;
    const std::int64_t found = fewest ? ranges_.front().first : ranges_.back().last;
    Result<ServeAnswer> best = answer_server(engine_, scale_.with(request_, found));
    if (best) name_solution(found, *best);
    return best;
  }

 private:
  const Probe& probe(std::int64_t at) {
    const auto known = probes_.find(at);
    if (known != probes_.end()) return known->second;
    Probe& found = probes_[at];
    if (allocations_at(at) > kMostPlayed) {
      found.played = false;
      return found;
    }
    const Result<ServeAnswer> answer = answer_server(engine_, scale_.with(request_, at));
    if (!answer) {
      found.why_not = answer.error().line();
      found.played = !ghost::is_own_limit(answer.error());
      if (!refused_) refused_ = answer.error();
      return found;
    }
    no_gpu_ |= answer->ranks.empty();
    found.fits = answer->fits.value_or(false);
    found.headroom = answer->headroom_bytes;
    found.allocations = answer->allocations;
    found.why_not = answer->failure.empty() ? "does not fit" : answer->failure;
    if (!nearest_ || *found.headroom > *probes_[*nearest_].headroom) nearest_ = at;
    return found;
  }

  /// By a line through the two largest values that were played; 0 where they do not grow.
  std::size_t allocations_at(std::int64_t at) const {
    std::int64_t low = 0, high = 0;
    std::size_t of_low = 0, of_high = 0;
    for (const auto& [position, found] : probes_) {
      if (!found.played || found.allocations == 0) continue;
      low = std::exchange(high, position);
      of_low = std::exchange(of_high, found.allocations);
    }
    if (low == 0 || at <= high || of_high <= of_low) return 0;
    const double slope = static_cast<double>(of_high - of_low) / static_cast<double>(high - low);
    return of_high + static_cast<std::size_t>(slope * static_cast<double>(at - high));
  }

  /// The grid, until nothing has fitted for a while.
  void scan() {
    constexpr int kPatience = 3;
    int beyond = 0;
    bool any = false;
    for (const std::int64_t at : scale_.grid()) {
      const Probe& here = probe(at);
      if (!here.played) return;
      any |= here.fits;
      beyond = here.fits || !any ? 0 : beyond + 1;
      if (beyond >= kPatience && scale_.kind == Scale::Kind::count) return;
    }
  }

  /// Ends of ranges lie between neighbours that differ.
  void find_ranges() {
    std::vector<std::int64_t> asked;
    for (const auto& [at, found] : probes_) asked.push_back(at);
    for (std::size_t i = 0; i + 1 < asked.size(); ++i)
      if (scale_.kind != Scale::Kind::ranks && probes_[asked[i]].fits != probes_[asked[i + 1]].fits)
        close(asked[i], asked[i + 1]);
    std::optional<Range> open;
    for (const auto& [at, found] : probes_) {
      if (found.fits) {
        if (!open) open = Range{at, at};
        open->last = at;
      } else if (open) {
        ranges_.push_back(*std::exchange(open, std::nullopt));
      }
    }
    if (open) ranges_.push_back(*open);
  }

  /// Until what fits and what does not are neighbours. Memory grows nearly in a line, so that its
  /// crossing is near the end of the search: from there ever longer steps look for the other side.
  void close(std::int64_t low, std::int64_t high) {
    constexpr std::int64_t kLonger = 4;
    if (!probes_[high].played) return play_longest(low, high);
    const bool fits_below = probes_[low].fits;
    std::int64_t up = 1, down = 1;
    while (high - low > 1) {
      const std::int64_t at = between(low, high, up, down);
      const Probe& here = probe(at);
      if (here.fits == fits_below) {
        low = at;
        up *= kLonger;
        down = 1;
      } else {
        high = at;
        down *= kLonger;
        up = 1;
      }
    }
  }

  /// The largest value below `high` that is played.
  void play_longest(std::int64_t low, std::int64_t high) {
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (allocations_at(middle) > kMostPlayed ? high : low) = middle;
    }
    probe(low);
  }

  /// The value to ask for next: at least `up` above the one and `down` below the other, where there
  /// is a line to follow; else the middle, of magnitudes if they are far apart. Lengths are often
  /// padded to 256: near the end a multiple of that is tried, and the next number.
  std::int64_t between(std::int64_t low, std::int64_t high, std::int64_t up, std::int64_t down) {
    constexpr std::int64_t kPad = 256, kFar = 4;
    const std::int64_t last = high - 1, multiple = last - last % kPad;
    if (low >= kPad && high - low <= 2 * kPad) {
      if (multiple > low) return multiple;
      if (low % kPad == 0) return low + 1;
    }
    std::int64_t at = low + (high - low) / 2;
    if (high > kFar * low)
      at = static_cast<std::int64_t>(std::sqrt(static_cast<double>(low)) *
                                     std::sqrt(static_cast<double>(high)));
    const std::optional<std::int64_t> crossing = crossing_of(low, high);
    if (crossing && *crossing >= low && *crossing < high)
      at = std::max(low + up, std::min(*crossing, high - down));
    return std::clamp(at, low + 1, last);
  }

  /// Where a straight line through both crosses zero.
  std::optional<std::int64_t> crossing_of(std::int64_t low, std::int64_t high) {
    const auto &a = probes_[low].headroom, &b = probes_[high].headroom;
    if (!a || !b || *a <= *b) return std::nullopt;
    const double slope = static_cast<double>(*a - *b) / static_cast<double>(high - low);
    const double at = static_cast<double>(low) + static_cast<double>(*a) / slope;
    return static_cast<std::int64_t>(std::min(at, static_cast<double>(scale_.most())));
  }

  Result<ServeAnswer> nothing_fits() {
    if (!nearest_) return tl::unexpected(*refused_);
    Result<ServeAnswer> answer = answer_server(engine_, scale_.with(request_, *nearest_));
    if (!answer) return answer;
    const std::string why = answer->failure.empty() ? "" : ": " + answer->failure;
    answer->failure = fmt::format("--solve {}: nothing fits, {} comes nearest{}", scale_.flag,
                                  scale_.text(*nearest_), why);
    return answer;
  }

  std::string beyond(std::int64_t found) {
    if (scale_.kind == Scale::Kind::ranks)
      return found > 1 ? fmt::format("{}: {}", scale_.text(found - 1), probe(found - 1).why_not)
                       : "the least there can be";
    if (found >= scale_.most()) return "the most there can be";
    const auto next = probes_.upper_bound(found);
    if (next != probes_.end() && next->second.played && next->first == found + 1)
      return fmt::format("{}: {}", scale_.text(next->first), next->second.why_not);
    return unplayed(found);
  }

  /// Nothing is known to be too large: what is not played, and where memory would end.
  std::string unplayed(std::int64_t found) {
    std::string text = "or more: what is longer is not played here";
    for (auto at = probes_.find(found); at != probes_.begin();) {
      const std::int64_t before = (--at)->first;
      if (const auto crossing = crossing_of(before, found); crossing && before <= found / 2)
        return text + fmt::format("; by a line through {} and {} memory ends near {}",
                                  with_commas(before), with_commas(found), with_commas(*crossing));
    }
    return text;
  }

  std::string ranges_in_words() const {
    std::vector<std::string> words;
    for (const Range& r : ranges_) {
      const std::string first = scale_.text(r.first), last = scale_.text(r.last);
      words.push_back(r.first == r.last ? first : fmt::format("{} to {}", first, last));
    }
    return fmt::format("{}", fmt::join(words, ", "));
  }

  void name_solution(std::int64_t found, ServeAnswer& answer) {
    const std::string value = scale_.text(found), next = beyond(found);
    answer.solved = Solved{std::string(scale_.flag), value, next};
    std::vector<std::string> notes{
        fmt::format("{} --{} that fits: {} ({})", scale_.wanted(), scale_.flag, value, next)};
    const bool from_the_least = ranges_.front().first == 1;
    if (scale_.kind == Scale::Kind::ranks && ranges_.size() + (from_the_least ? 0U : 1U) > 1)
      notes.push_back(fmt::format("of those tried it fits with {}", ranges_in_words()));
    else if (scale_.kind == Scale::Kind::count && (ranges_.size() > 1 || !from_the_least))
      notes.push_back(
          fmt::format("not every smaller one fits: it does with {}; {}", ranges_in_words(), gap()));
    else if (scale_.kind == Scale::Kind::share && ranges_.size() > 1)
      notes.push_back(fmt::format("not every share between fits: it does with {}; {}",
                                  ranges_in_words(), gap()));
    answer.notes.insert(answer.notes.begin(), notes.begin(), notes.end());
  }

  /// Why a value below the last range does not fit.
  std::string gap() {
    const std::int64_t before = ranges_.back().first - 1;
    return fmt::format("{}: {}", scale_.text(before), probe(before).why_not);
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
  const Scale scale_;
  std::map<std::int64_t, Probe> probes_;
  std::vector<Range> ranges_;
  std::optional<std::int64_t> nearest_;  ///< with the most room
  std::optional<Error> refused_;         ///< the first value that cannot be
  bool no_gpu_ = false;
};

}  // namespace

Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag) {
  if (!request.device.total_bytes() && !request.options.has("host-memory-bytes"))
    return bad_input("needs a device to fit", "--solve", "name one with --gpu");
  const Result<Scale> scale = scale_of(engine, request, flag);
  if (!scale) return tl::unexpected(scale.error());
  return ServeSearch(engine, request, *scale).run();
}

}  // namespace memtape
