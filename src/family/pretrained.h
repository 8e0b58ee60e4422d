// SPDX-License-Identifier: Apache-2.0
// PretrainedModel: a transformers model as the training loop sees it: a tree of modules and a
// forward that gives a loss. Each family is a file of its own that mirrors transformers'
// modeling_FAMILY.py (5.17) so that both can be read side by side.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/result.h"
#include "family/task.h"
#include "model/config.h"
#include "model/expert_load.h"
#include "nn/module.h"

namespace memtape::family {

using ghost::Dims;
using ghost::In;
using ghost::Tensor;

enum class AttentionImplementation { eager, sdpa, flash };

/// What AutoModel*.from_config is told in addition to the configuration.
struct ModelOptions {
  DType dtype = DType::bfloat16;
  AttentionImplementation attention = AttentionImplementation::sdpa;
  ExpertLoad expert_load = {};
  Task task = Task::causal_lm;  ///< a classifier's head replaces the language model's
  std::int64_t num_labels = 2;
  std::optional<double> classifier_dropout = {};  ///< the configuration's own, if it has one
};

/// Inputs of one micro-batch: int64 [B, S]. The labels are as long as the inputs; the mask may be
/// undefined. Some models take images [B, C, H, W] or spectrograms [B, mel bins, frames]. Question
/// answering has the first and the last token of the answer, [B], instead of labels.
struct Batch {
  Tensor input_ids, labels, attention_mask;
  Tensor start_positions, end_positions;
  Tensor pixel_values, input_features;
  Tensor
      num_items_in_batch;  ///< what the sum of losses is divided by; undefined: their mean is taken
};

/// The sizes of the tensors that one sample of a batch consists of. They are int64, except that
/// images and spectrograms have the dtype of the parameters.
struct SampleSizes {
  std::optional<Dims> pixel_values, input_features, input_ids, labels;
  std::optional<Dims> positions = {};  ///< the first and the last token of an answer
};

struct ModelOutput {
  Tensor loss, logits;
  Tensor encoder_last_hidden_state = {};  ///< of encoder-decoders
  Tensor end_logits = {};                 ///< of question answering; `logits` are the start's
};

/// Whether a class makes its body or its head first.
enum class MadeFirst { body, head };

class StageParts;

class PretrainedModel {
 public:
  explicit PretrainedModel(const ModelOptions& options) : tree(options.dtype) {}
  virtual ~PretrainedModel() = default;
  virtual ModelOutput forward(const Batch& batch) = 0;
  /// The sample of a text that is `sequence_length` tokens long.
  virtual SampleSizes sample_sizes(std::int64_t sequence_length) const {
    return {.pixel_values = {},
            .input_features = {},
            .input_ids = Dims{sequence_length},
            .labels = Dims{sequence_length}};
  }
  /// The window of each layer's keys and values, 0 for a layer without one; empty if no layer
  /// slides.
  virtual std::vector<std::int64_t> sliding_windows() const { return {}; }
  /// The output of the body, which is the input of the head. Undefined if the family does not offer
  /// it.
  virtual Tensor last_hidden_state(const Batch&) { return {}; }
  virtual nn::Projection* head() { return nullptr; }
  /// The full name of the module that get_output_embeddings() returns. If the model has no module
  /// of that name, there is none.
  virtual std::string_view output_embeddings() const { return "lm_head"; }

  /// The model as a pipeline cuts it; null if the family does not offer it.
  virtual StageParts* stage_parts() { return nullptr; }

  nn::Scope root() { return {tree, tree.root()}; }

  nn::ModuleTree tree;
  std::string_view model_type;  ///< the family's, once its class has been made
};

using ModelPointer = std::unique_ptr<PretrainedModel>;

/// The model, or null when reading the configuration found a failure.
template <class Model, class Settings, class... More>
ModelPointer build_checked(const Config& config, const Settings& settings,
                           const ModelOptions& options, const More&... more) {
  if (!config.check()) return nullptr;
  return std::make_unique<Model>(settings, options, more...);
}

}  // namespace memtape::family
