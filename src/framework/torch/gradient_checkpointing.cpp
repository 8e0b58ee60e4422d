// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/gradient_checkpointing.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "nn/layers.h"

namespace memtape::torch {
namespace {

/// Attribute names that families' get_input_embeddings return (EmbeddingAccessMixin and its
/// overrides), and torchtitan's.
constexpr std::array<std::string_view, 7> kInputEmbeddings{
    "embed_tokens", "wte", "word_embeddings", "embed_in", "embeddings", "shared", "tok_embeddings"};

}  // namespace

bool is_input_embedding(const nn::ModuleNode& node) {
  return std::find(kInputEmbeddings.begin(), kInputEmbeddings.end(), node.name) !=
         kInputEmbeddings.end();
}

void enable_gradient_checkpointing(family::PretrainedModel& model, nn::GradientCheckpointing kind) {
  model.tree.gradient_checkpointing = kind;
  const std::vector<nn::NamedModule> modules = nn::named_modules(model.tree.root());
  const auto is_layer = [](const nn::NamedModule& module) { return module.node->is_layer; };
  if (std::none_of(modules.begin(), modules.end(), is_layer))
    ghost::session().fail({ErrorKind::unsupported,
                           "transformers does not offer gradient checkpointing of this model",
                           "--gradient-checkpointing", "give none"});
  for (const nn::NamedModule& module : modules) {
    if (module.node->embedding && is_input_embedding(*module.node))
      module.node->embedding->output_requires_grad = true;
  }
}

}  // namespace memtape::torch
