// SPDX-License-Identifier: Apache-2.0
// `memtape fits`: which models of the catalog a machine can chat with or train, the largest first.
// Each model is asked about as by `serve --engine llamacpp` or by `train`: with which kind of
// weights, with how long a context, and how much of it on the GPU.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "answer/options.h"
#include "answer/outside.h"
#include "answer/table.h"
#include "model/catalog.h"
#include "option/option.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

std::span<const option::Option> fits_options();

/// What is asked, with its numbers read.
struct FitsQuestion {
  enum class Task : std::uint8_t { chat, train };
  enum class Where : std::uint8_t { any, gpu, partly };

  Task task = Task::chat;
  NamedValues device_values;  ///< --gpu and similar options
  DeviceSetup device;
  std::optional<Bytes> host_memory;
  Bytes reserve = 0;  ///< of the GPU's memory, kept free for others; without a GPU, of the host's
  std::int64_t least_tokens{};  ///< those of a chat's context, or of the sequences of a training
  std::vector<std::string> weights;  ///< the kinds that are tried, the best first
  std::vector<std::string> methods;  ///< methods of training, the most thorough first
  std::string name;                  ///< a part of a model's id
  std::int64_t least_parameters = 0, most_parameters = 0;  ///< 0: any
  Where where = Where::any;
  std::size_t top = 0;  ///< 0: all
  bool strict = false;

  /// What the GPU has without the reserve.
  std::optional<Bytes> room() const;
  /// Whether an answer counts as fitting. A model that may not fit counts if its central figure
  /// fits, unless only models that fit for certain are asked for.
  bool accepts(std::optional<VerdictWord> verdict, std::optional<bool> fits) const;
};

Result<FitsQuestion> fits_question(const RawOptions& options, const Outside& outside);

/// A model, and how it fits.
struct Fitting {
  enum class Place : std::uint8_t { none, gpu, partly, host };

  std::string id, family;
  std::int64_t parameters = 0;
  Place place = Place::none;
  std::string with;             ///< the kind of weights, or the method of training
  std::int64_t tokens = 0;      ///< the longest context or sequence
  std::int64_t all_tokens = 0;  ///< the length for which the model was made; 0 if it does not say
  Bytes peak_device_bytes = 0, host_bytes = 0, weight_bytes = 0;
  std::optional<VerdictWord> verdict;
  std::string note;                  ///< llama.cpp's flags for a model that is partly on the GPU
  std::vector<std::string> command;  ///< the command that asks this in full

  /// Sets the command to `memtape COMMAND id` with these options, on the GPU without its reserve.
  void ask_by(std::string_view asked, const NamedValues& options, const FitsQuestion& question);

  std::string failure;  ///< why there is no answer
};

std::string_view name(Fitting::Place place);

struct FitsAnswer {
  FitsQuestion question;
  /// Those that fit: first those that are all on the GPU, then the others, the largest first.
  std::vector<Fitting> models;
  std::vector<std::string> too_large;  ///< the ids of the models
  std::vector<Fitting> not_modelled;   ///< each with its reason
  std::size_t left_out = 0;            ///< how many more fit, beyond --top
  std::size_t not_asked = 0;           ///< how many were left when the search was stopped
};

/// Several workers may call these at the same time.
struct FitsWatch {
  std::function<void(std::size_t models)> starts = [](std::size_t) {};
  /// Around the questions about one model, on the thread that asks them.
  std::function<void(std::string_view id)> begins = [](std::string_view) {};
  std::function<void(std::string_view id)> ends = [](std::string_view) {};
  std::function<bool()> stopped = [] { return false; };
};

/// Once it is stopped, the other models are not asked, and those so far are the answer.
Result<FitsAnswer> models_that_fit(const RawOptions& options, const Outside& outside,
                                   const FitsWatch& watch = {});

/// One model as llama.cpp serves it, and one as it is trained.
Fitting fitting_chat(const CatalogEntry& entry, const ModelSource& source,
                     const FitsQuestion& question, const Outside& outside);
Fitting fitting_training(const CatalogEntry& entry, const ModelSource& source,
                         const FitsQuestion& question, const Outside& outside);

std::string text(const FitsAnswer& answer, Widths widths);
std::string quiet_text(const FitsAnswer& answer);
std::string json(const FitsAnswer& answer);

}  // namespace memtape::answer
