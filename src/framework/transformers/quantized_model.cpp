// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/quantized_model.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/transformers/axolotl/quantized_experts.h"
#include "framework/transformers/checkpoint_loading.h"
#include "framework/transformers/linear_4bit.h"
#include "framework/transformers/linear_8bit.h"
#include "framework/transformers/trainer_recipe.h"
#include "ghost/ops/creation.h"
#include "nn/layers.h"
#include "release/trainer_changes.h"
#include "release/trl_changes.h"

namespace memtape::transformers {
namespace {

using ghost::Tensor;
using nn::ModuleNode;

/// Every projection but the output head and what is to be skipped, by its weight.
using QuantizedWeights = std::unordered_map<const ghost::TensorImpl*, nn::Projection*>;

bool skipped(const nn::NamedModule& module, std::string_view head,
             const QuantizationRecipe& recipe) {
  const auto names = [&](std::string_view key) {
    return module.name == key || std::string_view(module.name).ends_with("." + std::string(key)) ||
           module.name.find(std::string(key) + ".") != std::string::npos;
  };
  if (recipe.skip_modules.empty()) return module.name == head;
  return std::any_of(recipe.skip_modules.begin(), recipe.skip_modules.end(), names);
}

QuantizedWeights quantized_projections(family::PretrainedModel& model,
                                       const QuantizationRecipe& recipe) {
  QuantizedWeights found;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (module.node->projection && !skipped(module, model.output_embeddings(), recipe))
      found.emplace(module.node->projection->weight.ptr().get(), module.node->projection);
  return found;
}

/// The weight as nn.Linear has it: GPT-2's Conv1D is quantized transposed.
Tensor as_linear_weight(const nn::Projection& layer) {
  return dynamic_cast<const nn::Conv1D*>(&layer) ? layer.weight.t() : layer.weight;
}

/// Int8Params: bytes in the place of the weight.
void quantize_to_int8(nn::Projection& layer, const QuantizationRecipe& recipe) {
  ghost::TensorImpl& weight = layer.weight.impl();
  Int8Weight quantized = quantize_8bit(as_linear_weight(layer));
  weight.storage = quantized.bytes.impl().storage;
  weight.sizes = quantized.bytes.sizes();
  weight.strides = quantized.bytes.strides();
  weight.dtype = DType::int8;
  weight.requires_grad = false;
  layer.kernel = std::make_unique<Linear8Bit>(std::move(quantized.scales), recipe.int8_threshold);
}

/// Params4bit: the packed bytes in the place of the weight.
void quantize(nn::Projection& layer, const QuantizationRecipe& recipe, Tensor& dynamic_map) {
  const Tensor packs = as_linear_weight(layer).contiguous();  // Params4bit._quantize
  auto [packed, state] =
      quantize_4bit(packs, {.nested = recipe.double_quant, .storage = recipe.storage}, dynamic_map);
  take_packed_weight(layer.weight, packed);
  const Products4Bit products{.keep_inputs = !ghost::has(changes::kProducts4BitKeepNoInputs)};
  layer.kernel = std::make_unique<Linear4Bit>(std::move(state), recipe.compute_dtype, products);
}

/// Params4bit of the model, and their like.
std::unordered_set<const ghost::TensorImpl*> packed_weights(family::PretrainedModel& model) {
  std::unordered_set<const ghost::TensorImpl*> found;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    if (module.node->projection && module.node->projection->kernel)
      found.insert(module.node->projection->weight.ptr().get());
  return found;
}

/// param_element_size counts half a byte, or one, for what is quantized; before, nothing did.
void warm_up(const family::PretrainedModel& model, const std::vector<ModuleNode::Named>& parameters,
             const QuantizedWeights& quantized, bool int8, BytesToLoad bytes) {
  const bool counts_packed = ghost::has(changes::kWarmUpCountsPackedBytes);
  const bool passes_head_over = ghost::has(changes::kWarmUpPassesHeadOver) && !counts_packed;
  const std::string head = std::string(model.output_embeddings()) + ".weight";
  for (const ModuleNode::Named& p : parameters) {
    if (passes_head_over && p.name == head) continue;
    const std::int64_t count = p.tensor.numel();
    const bool shrinks = counts_packed && quantized.contains(p.tensor.ptr().get());
    bytes.add(p.name, !shrinks ? p.tensor.nbytes() : int8 ? count : count / 2);
  }
  warm_up_allocator(bytes.total());
}

/// The modules of the weights that quantize_moe_experts quantizes.
std::unordered_map<const ghost::TensorImpl*, ModuleNode*> owners_of_experts(
    family::PretrainedModel& model) {
  std::unordered_map<const ghost::TensorImpl*, ModuleNode*> owners;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root()))
    for (const ModuleNode::Named& p : module.node->parameters)
      if (axolotl::is_of_experts(module.name, p.tensor))
        owners.emplace(p.tensor.ptr().get(), module.node);
  return owners;
}

/// replace_with_bnb_linear takes layers of torch's own class, and Conv1D.
Result<void> check_layers(const std::vector<ModuleNode::Named>& parameters,
                          const QuantizedWeights& quantized) {
  for (const ModuleNode::Named& p : parameters) {
    const auto found = quantized.find(p.tensor.ptr().get());
    if (found == quantized.end()) continue;
    if (!dynamic_cast<const nn::Conv1D*>(found->second) &&
        !dynamic_cast<const nn::Linear*>(found->second))
      return bad_input("bitsandbytes leaves layers as they are that are no nn.Linear",
                       "--quantization", "leave it out");
  }
  return {};
}

/// What has arrived leaves the GPU again at the end of the scope, if it does.
class MovedToHost {
 public:
  MovedToHost(const Tensor& tensor, bool moves) : tensor_(tensor), moves_(moves) {}
  ~MovedToHost() {
    if (moves_) tensor_.impl().storage = {};
  }
  MovedToHost(const MovedToHost&) = delete;
  MovedToHost& operator=(const MovedToHost&) = delete;

 private:
  const Tensor& tensor_;
  bool moves_;
};

}  // namespace

Result<QuantizedModel> load_quantized(const Config& config, const TrainRecipe& recipe,
                                      Arrives arrives) {
  ghost::Session& session = ghost::session();
  session.skipping = true;  // torch.device("meta")
  auto built = torch::new_model(config, recipe);
  session.skipping = false;
  if (!built) return tl::unexpected(built.error());
  QuantizedModel result{std::move(*built), 0, {}};
  std::vector<ModuleNode::Named> parameters = nn::named_parameters(result.model->tree.root());
  const QuantizedWeights quantized = quantized_projections(*result.model, *recipe.quantization);
  if (const Result<void> fine = check_layers(parameters, quantized); !fine)
    return tl::unexpected(fine.error());
  const bool to_host = torch::init_device(recipe) != InitDevice::cuda;
  const bool with_experts = trainer_of(recipe).quantize_moe_experts;
  if (!with_experts)  // axolotl switches it off then
    warm_up(*result.model, parameters, quantized, recipe.quantization->int8,
            {config, recipe.layout.gpus});
  std::unordered_map<const ghost::TensorImpl*, ModuleNode*> owners;
  if (with_experts) owners = owners_of_experts(*result.model);
  std::stable_sort(parameters.begin(), parameters.end(),
                   [](const auto& a, const auto& b) { return loads_before(a.name, b.name); });
  Tensor dynamic_map;  // functional.name2qmap, for the life of the process
  const Places places(result.model->tree.root());
  for (const ModuleNode::Named& p : parameters) {
    const ghost::ScopeGuard place(places.of(p.name));
    const auto found = quantized.find(p.tensor.ptr().get());
    if (found == quantized.end() || arrives == Arrives::in_16_bits)
      take_memory(p.tensor, Category::parameter);
    if (const auto owner = owners.find(p.tensor.ptr().get()); owner != owners.end())
      result.packed_away += axolotl::quantize_experts(*owner->second, p.tensor, dynamic_map);
    const MovedToHost moved(p.tensor, to_host);
    if (found == quantized.end()) continue;
    if (recipe.quantization->int8) {
      if (arrives == Arrives::packed) p.tensor.impl().dtype = DType::float16;  // nothing to cast
      quantize_to_int8(*found->second, *recipe.quantization);
      continue;
    }
    const std::int64_t unpacked = p.tensor.numel();
    quantize(*found->second, *recipe.quantization, dynamic_map);
    result.packed_away += unpacked - p.tensor.numel();
  }
  result.dynamic_map = dynamic_map;
  if (!to_host) take_buffers(result.model->tree.root());
  return result;
}

bool trl_halves_adapters(const TrainRecipe& recipe) {
  const Change& change = trainer_of(recipe).dpo   ? changes::kTrlHalvesAdaptersOfDpo
                         : trainer_of(recipe).kto ? changes::kTrlHalvesAdaptersOfKto
                                                  : changes::kTrlHalvesAdapters;
  return recipe.is_of_trl() && recipe.release.has(change);
}

bool prepares_for_kbit(const TrainRecipe& recipe) {
  const bool called = !recipe.is_of_trl() || (recipe.quantization && !trl_halves_adapters(recipe));
  return recipe.prepare_for_kbit_training.value_or(called && !trainer_of(recipe).fsdp);
}

void peft_module_casting_to_bf16(family::PretrainedModel& model) {
  constexpr auto kTables =
      std::to_array<std::string_view>({"lm_head", "embed_tokens", "wte", "wpe"});
  const ghost::GradMode no_grad(false);
  for (const ModuleNode::Named& p : nn::named_parameters(model.tree.root())) {
    const std::string_view name = p.name;
    const bool is_table = std::ranges::any_of(kTables, [&](std::string_view table) {
      return name.find(table) != std::string_view::npos;
    });
    if (!is_table || name.find("norm") != std::string_view::npos) continue;
    if (!name.ends_with("weight") || p.tensor.dtype() != DType::float32) continue;
    const Tensor half = p.tensor.to(DType::bfloat16);
    ghost::session().set_category(half, Category::parameter);
    p.tensor.impl().storage = half.impl().storage;
    p.tensor.impl().dtype = DType::bfloat16;
  }
}

void prepare_model_for_kbit_training(family::PretrainedModel& model, bool casts) {
  const std::vector<ModuleNode::Named> parameters = nn::named_parameters(model.tree.root());
  for (const ModuleNode::Named& p : parameters) p.tensor.impl().requires_grad = false;
  if (!casts) return;
  const ghost::GradMode no_grad(false);
  const std::unordered_set<const ghost::TensorImpl*> packed = packed_weights(model);
  const Places places(model.tree.root());
  for (const ModuleNode::Named& p : parameters) {
    if (packed.contains(p.tensor.ptr().get())) continue;
    if (p.tensor.dtype() != DType::float16 && p.tensor.dtype() != DType::bfloat16) continue;
    const ghost::ScopeGuard place(places.of(p.name));
    const Tensor cast = p.tensor.to_float();
    ghost::session().set_category(cast, Category::parameter);
    p.tensor.impl().storage = cast.impl().storage;
    p.tensor.impl().dtype = DType::float32;
  }
  ghost::session().tape.empty_cache();
}

}  // namespace memtape::transformers
