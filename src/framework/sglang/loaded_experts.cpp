// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/loaded_experts.h"

#include <algorithm>
#include <string_view>

#include "release/engine_changes.h"

namespace memtape::sglang {

/// srt/models/qwen3_moe.py, Qwen3MoeForCausalLM.load_weights; the models of other families that are
/// known here make the list when it is first asked for.
std::vector<ghost::Tensor> referred_experts(const Config& config, const Release& release,
                                            nn::ModuleNode& root) {
  std::vector<ghost::Tensor> referred;
  const std::vector<std::string> names = config.texts("architectures");
  const bool refers = release.has(changes::kSglangRefersToLoadedExperts) &&
                      !release.has(changes::kSglangListsExpertsWhenAsked) &&
                      std::ranges::find(names, "Qwen3MoeForCausalLM") != names.end();
  if (!refers) return referred;
  for (const nn::NamedModule& module : nn::named_modules(root))
    if (module.name.ends_with(".mlp.experts"))
      for (const nn::ModuleNode::Named& weight : module.node->parameters)
        referred.push_back(weight.tensor);
  return referred;
}

Bytes left_beside(std::vector<ghost::Tensor>& referred, const nn::ModuleNode& root) {
  const std::vector<ghost::Tensor> parameters = nn::parameters(root);
  const auto is_parameter = [&](const ghost::Tensor& tensor) {
    return std::ranges::any_of(
        parameters, [&](const ghost::Tensor& other) { return &other.impl() == &tensor.impl(); });
  };
  std::erase_if(referred, is_parameter);
  Bytes bytes = 0;
  for (const ghost::Tensor& tensor : referred) bytes += tensor.nbytes();
  return bytes;
}

}  // namespace memtape::sglang
