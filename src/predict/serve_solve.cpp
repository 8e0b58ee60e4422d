// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_solve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;
constexpr std::int64_t kGreatestShares = 30;  ///< 1.00 down to 0.71

/// A flag's values as whole numbers, from the one that asks least of the device upwards.
struct Scale {
  std::string_view flag;  ///< by its name
  bool is_share = false;  ///< 1.00, 0.99 ... 0.01 in place of 1, 2, 3 ...

  std::int64_t most() const { return is_share ? 100 : kMost; }
  std::string text(std::int64_t at) const {
    if (!is_share) return std::to_string(at);
    return fmt::format("{:.2f}", static_cast<double>(101 - at) / 100.0);
  }
  std::string_view wanted() const { return is_share ? "smallest" : "largest"; }
};

/// What the engines call the sequences that are served at a time.
constexpr std::array<std::string_view, 3> kBatches{"--batch-size", "--max-num-seqs",
                                                   "--max-running-requests"};

/// `batch` asks for as many sequences as fit, whatever the engine calls them. llama.cpp's batch is
/// one of tokens.
std::string_view own_name(const ServeEngine& engine, std::string_view named) {
  if (named != "batch" || engine.name == "llamacpp") return named;
  for (const std::string_view batch : kBatches)
    if (find_flag(engine.flags, std::string(batch))) return batch;
  return named;
}

Result<Scale> scale_of(const ServeEngine& engine, std::string_view asked) {
  const std::string_view named = own_name(engine, asked);
  const std::string spelling =
      named.starts_with("-") ? std::string(named) : fmt::format("--{}", named);
  const ServeFlag* flag = find_flag(engine.flags, spelling);
  if (!flag) {
    std::vector<std::string_view> names;
    for (const ServeFlag& f : engine.flags)
      if (f.value == "N") names.push_back(f.spellings.substr(2, f.spellings.find(' ') - 2));
    return bad_input(fmt::format("--engine {} has no {}", engine.name, spelling), "--solve",
                     suggestion(named, names));
  }
  const bool is_share =
      flag->name() == "gpu-memory-utilization" || flag->name() == "mem-fraction-static";
  if (flag->name() == "n-cpu-moe")
    return bad_input("the more layers' experts stay with the CPU, the more fits",
                     "--solve n-cpu-moe", "--fit finds the fewest");
  if (flag->value != "N" && !is_share)
    return bad_input(fmt::format("{} is no number", spelling), "--solve",
                     "a flag whose value is a number");
  return Scale{flag->name(), is_share};
}

class Search {
 public:
  Search(const ServeEngine& engine, const ServeRequest& request, const Scale& scale)
      : engine_(engine), request_(request), scale_(scale) {}

  Result<ServeAnswer> run() {
    std::int64_t first = 1;
    Result<ServeAnswer> best = ask(first);
    // The whole GPU is never free: the largest share that is asked for in vain says nothing.
    while (scale_.is_share && !fits(best) && first < kGreatestShares) best = ask(++first);
    if (!best) return best;
    if (best->ranks.empty())
      return bad_input("no GPU takes part", fmt::format("--solve {}", scale_.flag),
                       "say how much host memory there is: --host-memory-bytes N");
    if (!fits(best))
      return bad_input(fmt::format("does not fit even with {}: {}", scale_.text(1), why_not(best)),
                       fmt::format("--solve {}", scale_.flag), "a larger GPU or a smaller model");
    bracket(first, *best);
    close(*best);
    name_solution(*best);
    return best;
  }

 private:
  struct Probe {
    std::int64_t at = 0;
    std::optional<Bytes> headroom;  ///< negative where it does not fit
  };

  /// Asks for `at`; the answer becomes the best, or what lies beyond it. True where it fits.
  bool probe(std::int64_t at, ServeAnswer& best) {
    Result<ServeAnswer> tried = ask(at);
    const Probe here{at, tried ? tried->headroom_bytes : std::nullopt};
    if (fits(tried)) {
      before_ = std::exchange(low_, here);
      best = *std::move(tried);
      return true;
    }
    high_ = here;
    beyond_ = why_not(tried);
    return false;
  }

  /// From the least value up to one that does not fit: where the line through the last two values
  /// crosses zero, as far as it can be trusted, or eight times as far.
  void bracket(std::int64_t first, ServeAnswer& best) {
    constexpr std::int64_t kStride = 8, kTrusted = 8192;
    low_ = {first, best.headroom_bytes};
    high_ = {scale_.most() + 1, std::nullopt};
    std::int64_t next = std::min(first * kStride, scale_.most());
    while (next < high_.at && probe(next, best)) {
      const std::optional<std::int64_t> crossing = crossing_of(before_, low_);
      next = crossing ? std::clamp(*crossing + 1, low_.at + 1, low_.at * kTrusted)
                      : std::min(low_.at * kStride, scale_.most());
      next = std::min(std::max(next, low_.at + 1), scale_.most() + 1);
    }
  }

  /// Until what fits and what does not are neighbours. Memory grows nearly in a line, so that its
  /// crossing is near the end of the search: from there ever longer steps look for the other side.
  void close(ServeAnswer& best) {
    constexpr std::int64_t kLonger = 4;
    std::int64_t up = 1, down = 1;
    while (high_.at - low_.at > 1) {
      const bool fitted = probe(between(up, down), best);
      up = fitted ? up * kLonger : 1;
      down = fitted ? 1 : down * kLonger;
    }
  }

  /// The value to ask for between what fits and what does not: at least `up` above the one and
  /// `down` below the other, where there is a line to follow; else the middle, of magnitudes if
  /// they are far apart. Lengths are often padded to 256: near the end a multiple of that is tried,
  /// and the next number.
  std::int64_t between(std::int64_t up, std::int64_t down) const {
    constexpr std::int64_t kPad = 256, kFar = 4;
    const std::int64_t last = high_.at - 1, multiple = last - last % kPad;
    if (low_.at >= kPad && high_.at - low_.at <= 2 * kPad) {
      if (multiple > low_.at) return multiple;
      if (low_.at % kPad == 0) return low_.at + 1;
    }
    std::int64_t at = low_.at + (high_.at - low_.at) / 2;
    if (high_.at > kFar * low_.at)
      at = static_cast<std::int64_t>(std::sqrt(static_cast<double>(low_.at)) *
                                     std::sqrt(static_cast<double>(high_.at)));
    const std::optional<std::int64_t> crossing = crossing_of(low_, high_);
    if (crossing && *crossing >= low_.at && *crossing < high_.at)
      at = std::max(low_.at + up, std::min(*crossing, high_.at - down));
    return std::clamp(at, low_.at + 1, last);
  }

  /// Where a straight line through both crosses zero.
  static std::optional<std::int64_t> crossing_of(const Probe& a, const Probe& b) {
    if (!a.headroom || !b.headroom || *a.headroom <= *b.headroom) return std::nullopt;
    const double slope =
        static_cast<double>(*a.headroom - *b.headroom) / static_cast<double>(b.at - a.at);
    const double at = static_cast<double>(a.at) + static_cast<double>(*a.headroom) / slope;
    return static_cast<std::int64_t>(std::min(at, static_cast<double>(kMost)));
  }

  Result<ServeAnswer> ask(std::int64_t at) const {
    ServeRequest request = request_;
    request.options.add(scale_.flag, scale_.text(at));
    return predict_serve(engine_, request);
  }
  static bool fits(const Result<ServeAnswer>& answer) {
    return answer && answer->fits.value_or(false);
  }

  static std::string why_not(const Result<ServeAnswer>& answer) {
    if (!answer) return answer.error().line();
    return answer->failure.empty() ? "does not fit" : answer->failure;
  }

  void name_solution(ServeAnswer& answer) const {
    const std::string beyond = low_.at < scale_.most()
                                   ? fmt::format("{}: {}", scale_.text(high_.at), beyond_)
                                   : "the most there can be";
    answer.solved = Solved{std::string(scale_.flag), scale_.text(low_.at), beyond};
    answer.notes.insert(answer.notes.begin(),
                        fmt::format("{} --{} that fits: {} ({})", scale_.wanted(), scale_.flag,
                                    scale_.text(low_.at), beyond));
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
  const Scale scale_;
  Probe before_, low_, high_;  ///< low_ fits, before_ did before it, high_ does not
  std::string beyond_;         ///< why high_ does not
};

}  // namespace

Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag) {
  if (!request.device.total_bytes() && !request.options.has("host-memory-bytes"))
    return bad_input("needs a device to fit", "--solve", "name one with --gpu");
  const Result<Scale> scale = scale_of(engine, flag);
  if (!scale) return tl::unexpected(scale.error());
  return Search(engine, request, *scale).run();
}

}  // namespace memtape
