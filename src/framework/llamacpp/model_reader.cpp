// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/model_reader.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::llamacpp {
namespace {

/// What files leave open, most usual first.
constexpr std::array kChoices{Choices{},
                              Choices{.tied = true},
                              Choices{.tied = false},
                              Choices{.rope_factors = true},
                              Choices{.tied = true, .rope_factors = true},
                              Choices{.extra = true},
                              Choices{.tied = true, .extra = true},
                              Choices{.tied = false, .extra = true}};

Result<const Architecture*> architecture_of(const Metadata& metadata) {
  const std::string named = metadata.text("general.architecture");
  if (named.empty())
    return bad_input("general.architecture is missing", metadata.where,
                     "GGUF metadata as gguf-dump --json prints it");
  if (const Architecture* found = find_architecture(named)) return found;
  std::vector<std::string_view> names;
  for (const Architecture& a : architectures()) names.push_back(a.name);
  return unsupported(fmt::format("llama.cpp's architecture {} is not modelled", named),
                     metadata.where, hint_at(named, names));
}

WeightList listed(const Model& model, const StoredWeights* stored, Choices choices) {
  WeightList weights(stored, choices);
  model.architecture->list(model.hp, weights);
  return weights;
}

/// The choices under which there are as many tensors as the metadata counts.
WeightList fitting_list(const Model& model, std::optional<std::int64_t> count,
                        std::vector<std::string>& warnings) {
  if (count) {
    for (const Choices& choices : kChoices) {
      WeightList weights = listed(model, nullptr, choices);
      if (weights.stored_count() == *count) return weights;
    }
    warnings.push_back(fmt::format(
        "the metadata counts {} tensors, the architecture has {}; the weights are the latter",
        *count, listed(model, nullptr, {}).stored_count()));
  }
  return listed(model, nullptr, {});
}

/// Heads that a layer with attention can have.
void check_heads(const Hyperparameters& hp, KeyReader& keys) {
  for (std::int64_t il = 0; il < hp.n_layer_all; ++il) {
    if (!hp.has_attention(il)) continue;
    if (hp.n_head(il) < 1) return keys.fail("attention.head_count", "is missing");
    if (hp.n_head_kv(il) < 1 || hp.n_head(il) % hp.n_head_kv(il) != 0)
      return keys.fail("attention.head_count_kv", "must divide attention.head_count");
    if (hp.head_k < 1 || hp.head_v < 1)
      return keys.fail("embedding_length", "leaves nothing for each head");
  }
}

Result<FileType> file_type_of(const Metadata& metadata, const Settings& settings) {
  if (settings.quantize) return *settings.quantize;
  const auto number = metadata.integer("general.file_type");
  if (!number) return FileType::f16;
  if (const auto type = file_type_from_number(*number)) return *type;
  return unsupported(fmt::format("general.file_type {} is not known", *number), metadata.where);
}

}  // namespace

Result<Model> read_model(const Metadata& metadata, const StoredWeights* stored,
                         const std::optional<Choices>& choices, const Settings& settings) {
  const Result<const Architecture*> architecture = architecture_of(metadata);
  if (!architecture) return tl::unexpected(architecture.error());
  Model model;
  model.architecture = *architecture;
  KeyReader keys(metadata, std::string((*architecture)->name));
  model.hp = read_common(keys, std::string((*architecture)->name));
  if (const Result<void> read = keys.check(); !read) return tl::unexpected(read.error());
  (*architecture)->read(model.hp, keys);
  check_heads(model.hp, keys);
  if (const Result<void> read = keys.check(); !read) return tl::unexpected(read.error());
  WeightList weights = stored || choices
                           ? listed(model, stored, choices.value_or(Choices{}))
                           : fitting_list(model, metadata.integer("tensor_count"), model.warnings);
  if (!weights.problem().empty()) return bad_input(weights.problem(), metadata.where);
  if (const std::set<std::string> unlisted = weights.keep_unlisted(model.hp); !unlisted.empty())
    model.warnings.push_back(fmt::format(
        "counted with the weights, but not read by the graph here: {}", fmt::join(unlisted, ", ")));
  model.weights = std::move(weights).take();
  if (stored && !settings.quantize) return model;
  const Result<FileType> type = file_type_of(metadata, settings);
  if (!type) return tl::unexpected(type.error());
  if (Result<void> typed = quantize(model.weights, model.hp, *type); !typed)
    return tl::unexpected(typed.error());
  return model;
}

}  // namespace memtape::llamacpp
