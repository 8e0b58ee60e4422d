// SPDX-License-Identifier: Apache-2.0
// How a model can be trained on a GPU: all of it, adapters of it, or adapters over 4-bit weights,
// the most thorough way that fits, one sequence at a time with its layers computed again in the
// backward; and the longest sequences with which that way still fits.
#include <algorithm>

#include <fmt/format.h>

#include "answer/fits.h"
#include "answer/train_request.h"
#include "predict/serve.h"
#include "predict/train_variants.h"

namespace memtape::answer {
namespace {

/// The options of a way to train, beside the device and the sequence.
NamedValues options_of(std::string_view method) {
  if (method == "qlora") return {{"qlora", "true"}};
  if (method == "lora")
    return {
        {"lora-rank", "16"}, {"lora-targets", "all-linear"}, {"gradient-checkpointing", "full"}};
  return {{"gradient-checkpointing", "full"}};
}

/// Bytes that stay for the whole step at the least: weights of 16 bits, or of 4 under adapters; where
/// all of them are trained, as many bytes of gradients and of each of AdamW's two moments beside.
Bytes least_static(const CatalogEntry& entry, std::string_view method) {
  if (method == "qlora") return entry.parameters / 2;
  return method == "lora" ? entry.parameters * 2 : entry.parameters * 8;
}

/// Of models that read text and images, those of the text.
std::int64_t longest_of(const Config& config) {
  return text_part(config).integer(
      {"max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length"}, 0);
}

class Trained {
 public:
  Trained(const CatalogEntry& entry, const ModelSource& source, const FitsQuestion& question,
          const Outside& outside)
      : source_(source), q_(question), outside_(outside) {
    found_.id = entry.id;
    found_.family = entry.family;
    found_.parameters = entry.parameters;
    found_.all_tokens = longest_of(*source.config);
    least_ = found_.all_tokens > 0 ? std::min(q_.least_tokens, found_.all_tokens) : q_.least_tokens;
    std::ranges::copy_if(q_.methods, std::back_inserter(methods_), [&](const auto& method) {
      return least_static(entry, method) < q_.room().value_or(0);
    });
  }

  Fitting find() && {
    std::string failure;
    bool is_possible = methods_.size() < q_.methods.size();  // too large without a try
    for (const std::string& method : methods_) {
      const VariantAnswer answer = ask(method, least_);
      if (!answer.is_possible()) {
        failure = answer.failure;
        continue;
      }
      is_possible = true;
      if (!passes(answer)) continue;
      take(method, answer);
      return found_;
    }
    if (!is_possible) found_.failure = failure;
    return found_;
  }

 private:
  bool passes(const VariantAnswer& answer) const {
    return answer.is_possible() && q_.accepts(answer.verdict, answer.fits);
  }

  NamedValues values_of(const std::string& method, std::int64_t tokens) const {
    auto values = q_.device_values;
    for (auto& option : options_of(method)) values.push_back(option);
    values.emplace_back("sequence-length", fmt::format("{}", tokens));
    return values;
  }

  VariantAnswer ask(const std::string& method, std::int64_t tokens) const {
    RawOptions options;
    options.model = found_.id;
    options.values = values_of(method, tokens);
    Result<TrainRequest> request = train_request(options, outside_);
    if (!request) {
      VariantAnswer none;
      none.failure = request.error().line();
      return none;
    }
    request->device.total_override = q_.room();
    CommandWords command;
    command.values = request->values;
    command.read = request->read;
    return answer_variant({.id = found_.id, .config = *source_.config}, command,
                          {{}, request->device});
  }

  /// Sequences twice as long as long as they fit and the model has places for them.
  void take(const std::string& method, VariantAnswer best) {
    std::int64_t tokens = least_;
    while (tokens < found_.all_tokens) {
      const std::int64_t longer = std::min(tokens * 2, found_.all_tokens);
      VariantAnswer answer = ask(method, longer);
      if (!passes(answer)) break;
      tokens = longer;
      best = std::move(answer);
    }
    found_.place = Fitting::Place::gpu;
    found_.with = method;
    found_.tokens = tokens;
    found_.peak_device_bytes = best.needed_bytes;
    found_.verdict = best.verdict;
    auto options = values_of(method, tokens);
    for (auto& [name, value] : options)
      if (name == "qlora") value.clear();  // a switch
    found_.ask_by("train", options, q_);
  }

  const ModelSource& source_;
  const FitsQuestion& q_;
  const Outside& outside_;
  std::vector<std::string> methods_;
  std::int64_t least_ = 0;
  Fitting found_;
};

}  // namespace

Fitting fitting_training(const CatalogEntry& entry, const ModelSource& source,
                         const FitsQuestion& question, const Outside& outside) {
  return Trained(entry, source, question, outside).find();
}

}  // namespace memtape::answer
