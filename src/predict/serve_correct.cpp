// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_correct.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "predict/serve_solve.h"

namespace memtape {
namespace {

class Remedies {
 public:
  Remedies(const ServeEngine& engine, const ServeRequest& request)
      : engine_(engine), request_(request) {}

  std::optional<Correction> first() {
    for (const ServeRemedy& remedy : engine_.remedies)
      if (std::optional<Correction> found = tried(remedy)) return found;
    return std::nullopt;
  }

 private:
  std::optional<Correction> tried(const ServeRemedy& remedy) const {
    switch (remedy.how) {
      case ServeRemedy::How::largest: return largest(remedy);
      case ServeRemedy::How::largest_share: return largest_share(remedy);
      case ServeRemedy::How::doubled: return doubled(remedy);
      case ServeRemedy::How::value:
        return with(remedy, {{std::string(remedy.flag), std::string(remedy.text)}});
      case ServeRemedy::How::fitted: return fitted(remedy);
    }
    return std::nullopt;
  }

  std::optional<Correction> largest(const ServeRemedy& remedy) const {
    const std::string least = std::to_string(remedy.bound);
    if (!with(remedy, {{std::string(remedy.flag), least}})) return std::nullopt;
    const Result<ServeAnswer> answer = solve_serve(engine_, request_, remedy.flag);
    if (!answer || !answer->solved) return std::nullopt;
    return with(remedy, {{std::string(remedy.flag), answer->solved->value}});
  }

  std::optional<Correction> largest_share(const ServeRemedy& remedy) const {
    constexpr int kMost = 99, kLeast = 80;
    for (int share = kMost; share >= kLeast; --share)
      if (auto found = with(remedy, {{std::string(remedy.flag), fmt::format("0.{}", share)}}))
        return found;
    return std::nullopt;
  }

  /// Twice as many, and as many GPUs more.
  std::optional<Correction> doubled(const ServeRemedy& remedy) const {
    std::int64_t times = 2;
    const auto given = request_.options.integer(remedy.flag, 1, {1, remedy.bound});
    if (!given) return std::nullopt;
    for (std::int64_t value = 2 * *given; value <= remedy.bound; value *= 2, times *= 2) {
      const std::int64_t gpus = request_.device.gpus * times;
      if (auto found = with(remedy, {{std::string(remedy.flag), std::to_string(value)}}, gpus))
        return found;
    }
    return std::nullopt;
  }

  std::optional<Correction> fitted(const ServeRemedy& remedy) const {
    ServeRequest request = request_;
    request.options.add(remedy.flag, "");
    const Result<ServeAnswer> answer = predict_serve(engine_, request);
    if (!answer || answer->fitted.empty()) return std::nullopt;
    return with(remedy, answer->fitted);
  }

  std::optional<Correction> with(const ServeRemedy& remedy, NamedValues changes,
                                 std::int64_t gpus = 0) const {
    ServeRequest request = request_;
    if (gpus > 0) request.device.gpus = static_cast<int>(gpus);
    std::string text;
    for (const auto& [flag, value] : changes) {
      request.options.add(flag, value);
      text += fmt::format("{}--{} {}", text.empty() ? "" : " ", flag, value);
    }
    const Result<ServeAnswer> answer = predict_serve(engine_, request);
    if (!answer || !answer->fits.value_or(false)) return std::nullopt;
    Bytes peak = 0;
    for (const ServeRank& rank : answer->ranks) peak = std::max(peak, rank.peak_device_bytes);
    return Correction{std::move(changes), {text, {}, peak, std::string(remedy.cost)}};
  }

  const ServeEngine& engine_;
  const ServeRequest& request_;
};

}  // namespace

std::optional<Correction> correct_serve(const ServeEngine& engine, const ServeRequest& request) {
  return Remedies(engine, request).first();
}

}  // namespace memtape
