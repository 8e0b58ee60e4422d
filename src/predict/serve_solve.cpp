// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_solve.h"

#include <algorithm>
#include <optional>
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

Result<Scale> scale_of(const ServeEngine& engine, std::string_view named) {
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
  const bool is_share = flag->name() == "gpu-memory-utilization";
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
    if (!fits(best))
      return bad_input(fmt::format("does not fit even with {}", scale_.text(1)),
                       fmt::format("--solve {}", scale_.flag), "a larger GPU or a smaller model");
    Probe low{first, best->headroom_bytes}, high{first + 1, std::nullopt};
    while (high.at <= scale_.most()) {
      Result<ServeAnswer> tried = ask(high.at);
      high.headroom = headroom(tried);
      if (!fits(tried)) break;
      best = std::move(tried);
      low = high;
      high = {std::min(high.at * 8, scale_.most() + 1), std::nullopt};
    }
    for (bool halves = false; high.at - low.at > 1; halves = !halves) {
      const std::int64_t at = between(low, high, halves);
      Result<ServeAnswer> tried = ask(at);
      (fits(tried) ? low : high) = {at, headroom(tried)};
      if (low.at == at) best = std::move(tried);
    }
    name_solution(*best, low.at);
    return best;
  }

 private:
  struct Probe {
    std::int64_t at = 0;
    std::optional<Bytes> headroom;  ///< negative where it does not fit
  };
  static std::optional<Bytes> headroom(const Result<ServeAnswer>& answer) {
    return answer ? answer->headroom_bytes : std::nullopt;
  }

  /// Where a straight line through both crosses zero, or the middle: in turns, since memory grows
  /// nearly in a line, but not quite. Lengths are mostly padded to 256: far apart, multiples of
  /// that are tried, and beyond the last one that fits the next number first.
  static std::int64_t between(const Probe& low, const Probe& high, bool halves) {
    constexpr std::int64_t kPad = 256;
    const std::int64_t span = high.at - low.at;
    if (span <= kPad && low.at % kPad == 0) return low.at + 1;
    std::int64_t step = span / 2;
    if (!halves && low.headroom && high.headroom && *low.headroom > *high.headroom)
      step =
          static_cast<std::int64_t>(static_cast<double>(span) * static_cast<double>(*low.headroom) /
                                    static_cast<double>(*low.headroom - *high.headroom));
    const std::int64_t at = low.at + std::clamp<std::int64_t>(step, 1, span - 1);
    const std::int64_t padded = at - at % kPad;
    return span > kPad && padded > low.at ? padded : at;
  }

  Result<ServeAnswer> ask(std::int64_t at) const {
    ServeRequest request = request_;
    request.options.add(scale_.flag, scale_.text(at));
    return predict_serve(engine_, request);
  }
  static bool fits(const Result<ServeAnswer>& answer) {
    return answer && answer->fits.value_or(false);
  }

  void name_solution(ServeAnswer& answer, std::int64_t at) const {
    std::string beyond = "the most there can be";
    if (at < scale_.most()) {
      const Result<ServeAnswer> next = ask(at + 1);
      beyond = fmt::format("{}: {}", scale_.text(at + 1),
                           !next                   ? next.error().line()
                           : next->failure.empty() ? "does not fit"
                                                   : next->failure);
    }
    answer.solved = Solved{std::string(scale_.flag), scale_.text(at), beyond};
    answer.notes.insert(answer.notes.begin(),
                        fmt::format("{} --{} that fits: {} ({})", scale_.wanted(), scale_.flag,
                                    scale_.text(at), beyond));
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
  const Scale scale_;
};

}  // namespace

Result<ServeAnswer> solve_serve(const ServeEngine& engine, const ServeRequest& request,
                                std::string_view flag) {
  if (!request.device.total_bytes())
    return bad_input("needs a device to fit", "--solve", "name one with --gpu");
  const Result<Scale> scale = scale_of(engine, flag);
  if (!scale) return tl::unexpected(scale.error());
  return Search(engine, request, *scale).run();
}

}  // namespace memtape
