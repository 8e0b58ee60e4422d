// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/inference_model.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "family/parts/mllama_tower.h"
#include "framework/torch/model_setup.h"
#include "framework/transformers/converted_model.h"
#include "framework/transformers/packed_model.h"
#include "model/type_of.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

/// Of the layers that GPTQ or AWQ packed, as 16 bits.
Bytes largest_packed_layer(family::PretrainedModel& model) {
  Bytes most = 0;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (const nn::Projection* const layer = module.node->projection;
        layer && layer->kernel && layer->weight.dtype() == DType::int32)
      most = std::max(most, bytes_of(DType::float16, layer->in_features * layer->out_features));
  return most;
}

/// Mllama is built as its text model; the class that reads images has its tower beside it.
bool has_tower_beside_text(const Config& config) {
  const std::vector<std::string> architectures = config.texts("architectures");
  return type_of(config) == "mllama" && !architectures.empty() &&
         architectures.front().ends_with("ForConditionalGeneration");
}

}  // namespace

Result<QuantizedModel> load_for_inference(const Config& config, const GenerateRecipe& recipe,
                                          family::Task task) {
  TrainRecipe load;
  load.task = task;
  load.weights = recipe.dtype;
  load.attention = recipe.attention;
  const Result<StoredWeights> stored = stored_weights(config, recipe.gpu);
  if (!stored) return tl::unexpected(stored.error());
  switch (stored->kind) {
    case StoredWeights::Kind::sixteen_bits: break;
    case StoredWeights::Kind::bitsandbytes:
      load.quantization = stored->bitsandbytes;
      return load_quantized(config, load, Arrives::packed);
    case StoredWeights::Kind::packed: return load_packed(config, load, stored->packed);
    case StoredWeights::Kind::float8:
    case StoredWeights::Kind::mxfp4: return load_converted(config, load, *stored);
  }
  auto model = torch::new_model(config, load, torch::Purpose::inference);
  if (!model) return tl::unexpected(model.error());
  if (has_tower_beside_text(config)) family::make_mllama_tower((*model)->root() / "model", config);
  return QuantizedModel{std::move(*model), 0, {}};
}

void count_weights(GenerateRun& run, const QuantizedModel& loaded) {
  const torch::StaticBytes statics = torch::count_statics(*loaded.model);
  run.parameters = statics.parameters + loaded.packed_away;
  run.parameter_bytes = statics.parameter_bytes;
  for (const nn::NamedModule& module : nn::named_modules(loaded.model->tree.root())) {
    const bool is_packed = module.node->projection && module.node->projection->kernel;
    if (is_packed || module.name.ends_with(".experts"))
      for (const nn::ModuleNode::Named& buffer : module.node->buffers)
        run.parameter_bytes += buffer.tensor.nbytes();
  }
  run.most_unpacked = largest_packed_layer(*loaded.model);
}

}  // namespace memtape::transformers
