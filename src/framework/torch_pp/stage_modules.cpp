// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_pp/stage_modules.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "framework/torch/freeze.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/strategy.h"
#include "ghost/autograd/node.h"
#include "model/type_of.h"

namespace memtape::torch_pp {
namespace {

using ghost::Tensor;

/// empty_like(tensor, device="cuda") in the tensor's place: what it had before goes afterwards.
void give_memory(const Tensor& tensor, Category category) {
  const ghost::Op op("empty_like", {});
  tensor.impl().storage =
      ghost::session().allocate(tensor.nbytes(), category, tensor.dtype(), tensor.sizes());
}

/// Module._apply: children first, then parameters, then buffers.
void to_empty(const nn::ModuleNode& module) {
  for (const nn::ModuleNode* child : module.children) to_empty(*child);
  const ghost::ScopeGuard scope(module.scope);
  for (const auto& parameter : module.parameters)
    give_memory(parameter.tensor, Category::parameter);
  for (const auto& buffer : module.buffers) give_memory(buffer.tensor, Category::buffer);
}

/// The head's weight as a parameter of its own where it was the embedding's.
void untie(family::StageParts& parts) {
  nn::Linear& head = parts.head();
  if (head.weight.ptr().get() != parts.embedding()->weight.ptr().get()) return;
  Tensor weight = ghost::empty(head.weight.sizes(), head.weight.dtype(), Category::parameter);
  weight.impl().requires_grad = head.weight.requires_grad();
  nn::replace_weight(head, weight);
}

}  // namespace

Result<std::unique_ptr<family::PretrainedModel>> model_without_memory(const Config& config,
                                                                      const TrainRecipe& recipe) {
  const ghost::HostGuard meta(true);
  auto model = torch::new_model(config, recipe);
  if (!model) return model;
  family::StageParts* const parts = (*model)->stage_parts();
  if (!parts || !parts->can_be_cut())
    return unsupported("\"" + type_of(config) + "\" is not cut into stages", "--framework torch-pp",
                       "a plain stack of decoder layers such as llama");
  untie(*parts);
  if (!recipe.freeze.empty())
    if (const auto frozen =
            torch::freeze(nn::named_parameters((*model)->tree.root()), recipe.freeze);
        !frozen)
      return tl::unexpected(frozen.error());
  if (recipe.checkpointing != Checkpointing::none)
    (*model)->tree.gradient_checkpointing = recipe.checkpointing == Checkpointing::full_reentrant
                                                ? nn::GradientCheckpointing::reentrant
                                                : nn::GradientCheckpointing::non_reentrant;
  return model;
}

void to_empty(const std::vector<const nn::ModuleNode*>& modules) {
  for (const nn::ModuleNode* module : modules) to_empty(*module);
}

Result<std::vector<std::int64_t>> layers_by_stage(const Options& options, std::int64_t layers) {
  const std::int64_t stages = options.stages();
  if (options.layers.empty()) {
    if (layers % stages != 0)
      return bad_input(
          std::to_string(layers) + " layers do not divide over " + std::to_string(stages) +
              " stages",
          "--gpus",
          torch::divisors_of(layers) +
              " stages; or say how many layers each holds: --strategy '{\"layers\": [...]}'");
    return std::vector<std::int64_t>(static_cast<std::size_t>(stages), layers / stages);
  }
  const bool usable =
      static_cast<std::int64_t>(options.layers.size()) == stages &&
      std::all_of(options.layers.begin(), options.layers.end(),
                  [&](std::int64_t n) { return n >= 0 && n <= layers; }) &&
      std::accumulate(options.layers.begin(), options.layers.end(), std::int64_t{0}) == layers;
  if (!usable)
    return bad_input("not the model's layers", "--strategy: layers",
                     std::to_string(stages) + " numbers that add up to " + std::to_string(layers));
  return options.layers;
}

}  // namespace memtape::torch_pp
