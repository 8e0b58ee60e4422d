// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/gradient_checkpointing.h"

#include <algorithm>
#include <array>
#include <string_view>

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
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root())) {
    if (module.node->embedding && is_input_embedding(*module.node))
      module.node->embedding->output_requires_grad = true;
  }
}

}  // namespace memtape::torch
