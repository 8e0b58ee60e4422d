// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>

#include <fmt/format.h>

#include "explain_against.h"

namespace memtape::cli {
namespace {

/// An option that may be what the run had otherwise.
struct Guess {
  std::string cause, name, value;
};

Bytes size_of(const std::vector<Residual>& residual) {
  Bytes sum = 0;
  for (const Residual& r : residual) sum += std::abs(r.bytes);
  return sum;
}

/// A batch or a length that is n/d of the predicted one.
void add_scaled(const Alignment& alignment, const Predicted& predicted,
                std::vector<Guess>& guesses) {
  const std::int64_t n = alignment.numerator, d = alignment.denominator;
  if (n == d) return;
  if (predicted.micro_batch * n % d == 0)
    guesses.push_back(
        {"another batch", "micro-batch-size", std::to_string(predicted.micro_batch * n / d)});
  if (predicted.sequence_length * n % d == 0)
    guesses.push_back({"another length or padding", "sequence-length",
                       std::to_string(predicted.sequence_length * n / d)});
}

std::vector<Guess> guesses_for(const Alignment& alignment, const Predicted& predicted) {
  std::vector<Guess> guesses;
  add_scaled(alignment, predicted, guesses);
  constexpr std::array<std::array<const char*, 3>, 20> kOptions{{
      {"another attention", "attention", "eager"},
      {"another attention", "attention", "sdpa"},
      {"another form of the optimizer", "optimizer-impl", "fused"},
      {"another form of the optimizer", "optimizer-impl", "foreach"},
      {"another form of the optimizer", "optimizer-impl", "for-loop"},
      {"another optimizer", "optimizer", "sgd"},
      {"another optimizer", "optimizer", "adamw"},
      {"another optimizer", "optimizer", "adamw-8bit"},
      {"another precision", "precision", "fp32"},
      {"another precision", "precision", "bf16"},
      {"another precision", "precision", "amp-bf16"},
      {"another precision", "precision", "amp-fp16"},
      {"gradient checkpointing", "gradient-checkpointing", "none"},
      {"gradient checkpointing", "gradient-checkpointing", "full"},
      {"clipping of gradients", "max-grad-norm", "none"},
      {"clipping of gradients", "max-grad-norm", "1.0"},
      {"another release", "with", "torch==2.6.0,transformers==4.51.3"},
      {"another release", "with", "torch==2.8.0,transformers==4.57.6"},
      {"another release", "with", "torch==2.10.0,transformers==5.3.0"},
      {"another release", "with", "torch==2.15.0,transformers==5.23.0"},
  }};
  for (const auto& [cause, name, value] : kOptions) guesses.push_back({cause, name, value});
  return guesses;
}

/// A prediction with some options replaced, and what it leaves unexplained.
struct Attempt {
  NamedValues values;
  Predicted predicted;
  std::vector<Residual> residual;
  Alignment alignment;
};

class Search {
 public:
  Search(const std::vector<std::string>& words, const ExplainedRecording& recorded)
      : words_(words),
        recorded_(recorded),
        from_start_(recorded.held.start.levels.allocated == 0),
        stories_(*recorded.recording.stacks) {}

  Result<Attempt> attempt(const NamedValues& values) {
    Result<Predicted> predicted = predicted_for(words_, from_start_, values);
    if (!predicted) return tl::unexpected(predicted.error());
    Attempt made{values, std::move(*predicted), {}, {}};
    made.residual = residual_of(recorded_, made.predicted);
    made.alignment = aligned(recorded_.recording, made.predicted, stories_);
    return made;
  }

  /// The guess that leaves the least, if it leaves less than half of what there was.
  std::optional<std::pair<Guess, Attempt>> better(const Attempt& than) {
    std::optional<std::pair<Guess, Attempt>> best;
    Bytes least = size_of(than.residual) / 2;
    for (const Guess& guess : guesses_for(than.alignment, than.predicted)) {
      const auto used = [&](const auto& pair) { return pair.first == guess.name; };
      if (std::ranges::any_of(than.values, used)) continue;
      NamedValues values = than.values;
      values.emplace_back(guess.name, guess.value);
      Result<Attempt> made = attempt(values);
      if (!made || size_of(made->residual) >= least) continue;
      least = size_of(made->residual);
      best.emplace(guess, std::move(*made));
      if (least == 0) break;
    }
    return best;
  }

 private:
  const std::vector<std::string>& words_;
  const ExplainedRecording& recorded_;
  bool from_start_;
  Stories stories_;
};

/// What the guess changes of the peak, allocated and reserved beyond it together.
Residual change_by(const Guess& guess, const Predicted& from, const Predicted& to) {
  return {.cause = guess.cause,
          .bytes = to.peak.reserved - from.peak.reserved,
          .where = fmt::format("the run is as with --{} {}", guess.name, guess.value)};
}

}  // namespace

Result<void> lay_beside(const std::vector<std::string>& against, Explanation& e) {
  constexpr int kMostCauses = 3;
  if (e.recordings.empty())
    return memtape::bad_input("needs a snapshot or a trace: a message has no blocks to compare",
                              "--against", "torch.cuda.memory._dump_snapshot(FILE)");
  const Result<std::vector<std::string>> words = words_against(against);
  if (!words) return tl::unexpected(words.error());
  const ExplainedRecording& fullest = *std::ranges::max_element(
      e.recordings, {}, [](const ExplainedRecording& r) { return r.held.peak.levels.allocated; });
  Search search(*words, fullest);
  Result<Attempt> best = search.attempt({});
  if (!best) return tl::unexpected(best.error());
  e.against = best->predicted.words;
  e.predicted_peak = best->predicted.peak;
  std::vector<Residual> causes;
  for (int i = 0; i < kMostCauses && !best->residual.empty(); ++i) {
    auto better = search.better(*best);
    if (!better) break;
    causes.push_back(change_by(better->first, best->predicted, better->second.predicted));
    best = std::move(better->second);
  }
  causes.insert(causes.end(), best->residual.begin(), best->residual.end());
  e.residual = std::move(causes);
  e.step_allocations = best->alignment.predicted;
  e.step_allocations_found = best->alignment.found;
  e.step_event = best->alignment.first_event;
  e.step_difference = best->alignment.first_difference;
  e.predicted_step = std::move(best->predicted.step_allocated);
  return {};
}

}  // namespace memtape::cli
