// SPDX-License-Identifier: Apache-2.0
// `memtape fits`: which models of the catalog a machine can chat with or train, the largest first.
// Each is asked as `serve --engine llamacpp` and `train` would be: with what kind of weights, with
// how long a context, and how much of it on the GPU.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "model/catalog.h"
#include "option/option.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

std::span<const option::Option> fits_options();

/// What is asked, its numbers read.
struct FitsQuestion {
  enum class Task : std::uint8_t { chat, train };
  enum class Where : std::uint8_t { any, gpu, partly };

  Task task = Task::chat;
  NamedValues device_values;  ///< --gpu and its like
  ServeDevice device;
  std::optional<Bytes> host_memory;
  Bytes reserve = 0;                 ///< of the GPU, for others; without a GPU of the host
  std::int64_t least_tokens{};       ///< of a chat's context, of a training's sequences
  std::vector<std::string> weights;  ///< kinds that are tried, the best first
  std::vector<std::string> methods;  ///< of training, the most thorough first
  std::string name;                  ///< part of a model's id
  std::int64_t least_parameters = 0, most_parameters = 0;  ///< 0: any
  Where where = Where::any;
  std::size_t top = 0;  ///< 0: all
  bool strict = false;

  /// What the GPU has beside the reserve.
  std::optional<Bytes> room() const;
  /// Whether an answer counts as fitting: what may not fit does where its central figure fits,
  /// unless only what surely fits is asked for.
  bool accepts(std::optional<VerdictWord> verdict, std::optional<bool> fits) const;
};

Result<FitsQuestion> fits_question(const RawOptions& options, const Outside& outside);

/// A model, and how it fits.
struct Fitting {
  enum class Place : std::uint8_t { none, gpu, partly, host };

  std::string id, family;
  std::int64_t parameters = 0;
  Place place = Place::none;
  std::string with;             ///< kind of weights, or method of training
  std::int64_t tokens = 0;      ///< the longest context or sequence
  std::int64_t all_tokens = 0;  ///< what the model was made for; 0 where it does not say
  Bytes peak_device_bytes = 0, host_bytes = 0, weight_bytes = 0;
  std::optional<VerdictWord> verdict;
  std::string note;                  ///< llama.cpp's flags of a part on the GPU
  std::vector<std::string> command;  ///< what asks this in full

  /// `memtape COMMAND id` with these options, on the GPU less its reserve.
  void ask_by(std::string_view asked, const NamedValues& options, const FitsQuestion& question);

  std::string failure;  ///< why there is no answer
};

std::string_view name(Fitting::Place place);

struct FitsAnswer {
  FitsQuestion question;
  std::vector<Fitting> models;         ///< that fit: all on the GPU first, then the largest
  std::vector<std::string> too_large;  ///< ids
  std::vector<Fitting> not_modelled;   ///< with the reason
  std::size_t left_out = 0;            ///< that fit, too, but are beyond --top
};

using Progress = std::function<void(std::size_t done, std::size_t all)>;

/// `progress` may be called by several workers at a time.
Result<FitsAnswer> fits(const RawOptions& options, const Outside& outside,
                        const Progress& progress = {});

/// One model as llama.cpp serves it, or as it is trained.
Fitting fitting_chat(const CatalogEntry& entry, const ModelSource& source,
                     const FitsQuestion& question, const Outside& outside);
Fitting fitting_training(const CatalogEntry& entry, const ModelSource& source,
                         const FitsQuestion& question, const Outside& outside);

std::string text(const FitsAnswer& answer, int width);
std::string quiet_text(const FitsAnswer& answer);
std::string json(const FitsAnswer& answer);

}  // namespace memtape::answer
