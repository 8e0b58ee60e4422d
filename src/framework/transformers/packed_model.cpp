// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/packed_model.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/torch/model_setup.h"
#include "framework/transformers/checkpoint_loading.h"
#include "framework/transformers/linear_gptq.h"
#include "framework/transformers/parallel_model.h"
#include "ghost/ops/creation.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

using ghost::Dims;
using ghost::Tensor;
using nn::ModuleNode;
using PackedMethod = PackedCheckpoint::Method;

constexpr std::int64_t kWordBits = 32;

/// A tensor that the checkpoint holds.
struct Stored {
  std::string name;
  Tensor tensor;
  Category category;
};

/// A packed layer, and the buffers that it will have.
struct PackedLayer {
  nn::NamedModule module;
  std::vector<ModuleNode::Named> buffers;
};

/// Words that `count` numbers of so many bits fill.
std::int64_t words(std::int64_t count, std::int64_t bits) {
  return (count * bits + kWordBits - 1) / kWordBits;
}

/// _register_gptq_buffers; of AWQ, whose words hold neighbouring outputs, without g_idx.
std::vector<ModuleNode::Named> packed_buffers(const nn::Projection& layer,
                                              const PackedCheckpoint& packed) {
  const std::int64_t in = layer.in_features, out = layer.out_features;
  const std::int64_t size = packed.group_size == -1 ? in : packed.group_size;
  const std::int64_t groups = (in + size - 1) / size;
  const bool gptq = packed.method == PackedMethod::gptq;
  const Dims qweight = gptq ? Dims{words(in, packed.bits), out} : Dims{in, words(out, packed.bits)};
  std::vector<ModuleNode::Named> buffers;
  buffers.push_back({"qweight", ghost::empty(qweight, DType::int32)});
  buffers.push_back({"qzeros", ghost::empty({groups, words(out, packed.bits)}, DType::int32)});
  buffers.push_back({"scales", ghost::empty({groups, out}, DType::float16)});
  if (gptq) buffers.push_back({"g_idx", ghost::empty({in}, DType::int32)});
  if (layer.bias.defined()) buffers.push_back({"bias", ghost::empty({out}, DType::float16)});
  return buffers;
}

/// The plugin accelerated-peft of fms-acceleration (framework_plugin_autogptq.py) views qweight and
/// qzeros as frozen parameters in float16, which a flat parameter of FSDP 1 can hold.
void make_parameters_of_words(ModuleNode& node, std::vector<ModuleNode::Named>& buffers) {
  constexpr std::ptrdiff_t kWords = 2;  // qweight, qzeros
  for (auto words = buffers.begin(); words != buffers.begin() + kWords; ++words) {
    Dims sizes = words->tensor.sizes();
    sizes[-1] *= 2;
    node.parameters.push_back({words->name, ghost::empty(sizes, DType::float16)});
  }
  buffers.erase(buffers.begin(), buffers.begin() + kWords);
}

/// Puts a packed layer in the place of a linear one.
PackedLayer convert(const nn::NamedModule& module, const PackedCheckpoint& packed,
                    bool shards_words) {
  nn::Projection& layer = *module.node->projection;
  PackedLayer converted{module, packed_buffers(layer, packed)};
  module.node->parameters.clear();
  layer.weight = converted.buffers.front().tensor;
  if (layer.bias.defined()) layer.bias = converted.buffers.back().tensor;
  if (packed.method == PackedMethod::gptq)
    layer.kernel = std::make_unique<LinearGptq>(packed.gptq_kernel,
                                                GptqPacking{packed.bits, packed.group_size});
  else
    layer.kernel = std::make_unique<LinearAwq>(packed.awq_kernel);
  if (shards_words) {
    make_parameters_of_words(*module.node, converted.buffers);
    layer.weight = module.node->parameters.front().tensor;
  }
  return converted;
}

/// GPTQ's layers are those of the blocks, AWQ's all but the head and what is named
/// (should_convert_module).
bool is_packed(const nn::NamedModule& module, std::string_view head,
               const PackedCheckpoint& packed) {
  if (!module.node->projection || module.name == head) return false;
  return std::none_of(
      packed.not_converted.begin(), packed.not_converted.end(),
      [&](const std::string& name) { return module.name.find(name) != std::string::npos; });
}

/// What is loaded: parameters, and the buffers of packed layers.
void load_from_checkpoint(family::PretrainedModel& model, const std::vector<PackedLayer>& layers,
                          BytesToLoad bytes) {
  std::vector<Stored> stored;
  for (const ModuleNode::Named& p : nn::named_parameters(model.tree.root()))
    stored.push_back({p.name, p.tensor, Category::parameter});
  for (const PackedLayer& layer : layers)
    for (const ModuleNode::Named& b : layer.buffers)
      stored.push_back({layer.module.name + "." + b.name, b.tensor, Category::buffer});
  for (const Stored& s : stored) bytes.add(s.name, s.tensor.nbytes());
  warm_up_allocator(bytes.total());
  std::stable_sort(stored.begin(), stored.end(),
                   [](const Stored& a, const Stored& b) { return loads_before(a.name, b.name); });
  const Places places(model.tree.root());
  for (const Stored& s : stored) {
    const ghost::ScopeGuard place(places.of(s.name));
    take_memory(s.tensor, s.category);
  }
}

/// gptqmodel_post_init: what a word's numbers are shifted by; Triton's layers look at g_idx.
ModuleNode::Named post_init(std::int64_t bits) {
  const Tensor wf = ghost::empty({1, kWordBits / bits}, DType::int32, Category::buffer);
  for (int bound = 0; bound < 2; ++bound) const Tensor g_idx = ghost::empty({}, DType::int32);
  return {"wf_unsqueeze_zero", wf};
}

/// The model without memory, its packed layers converted.
Result<std::vector<PackedLayer>> lay_out(const Config& config, const TrainRecipe& recipe,
                                         const PackedCheckpoint& packed, QuantizedModel& result) {
  auto built = torch::new_model(config, recipe);
  if (!built) return tl::unexpected(built.error());
  result.model = std::move(*built);
  const bool shards_words =
      packed.words_are_parameters && parallelism_of(recipe) == Parallelism::fsdp1;
  std::vector<PackedLayer> layers;
  for (const nn::NamedModule& module : nn::named_modules(result.model->tree.root())) {
    if (!is_packed(module, result.model->output_embeddings(), packed)) continue;
    const nn::Projection& layer = *module.node->projection;
    result.packed_away += layer.in_features * layer.out_features;
    layers.push_back(convert(module, packed, shards_words));
    for (const ModuleNode::Named& words : module.node->parameters)
      result.packed_away -= words.tensor.numel();
  }
  return layers;
}

}  // namespace

Result<QuantizedModel> load_packed(const Config& config, const TrainRecipe& asked,
                                   const PackedCheckpoint& packed) {
  TrainRecipe recipe = asked;
  if (packed.method == PackedMethod::awq && recipe.parameter_dtype() == DType::bfloat16)
    recipe.weights = DType::float16;  // AwqQuantizer.update_dtype
  ghost::Session& session = ghost::session();
  QuantizedModel result;
  session.skipping = true;  // torch.device("meta")
  Result<std::vector<PackedLayer>> layers = lay_out(config, recipe, packed, result);
  session.skipping = false;
  if (!layers) return tl::unexpected(layers.error());
  load_from_checkpoint(*result.model, *layers, {config, recipe.layout.gpus});
  take_buffers(result.model->tree.root());
  for (PackedLayer& layer : *layers) {
    if (packed.method == PackedMethod::gptq) layer.buffers.push_back(post_init(packed.bits));
    layer.module.node->buffers = std::move(layer.buffers);
  }
  return result;
}

}  // namespace memtape::transformers
