// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/side_models.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace memtape::llamacpp {
namespace {

struct Pair {
  const StoredWeight *a = nullptr, *b = nullptr;
};

Error misfit(std::string what, const std::string& id) {
  return Error{ErrorKind::bad_input, std::move(what), fmt::format("--lora {}", id),
               "an adapter that convert_lora_to_gguf made for this model"};
}

/// By the name of what they adapt. Norms of adapters are not loaded.
Result<std::map<std::string, Pair>> pairs_of(const GgufHeader& adapter, const std::string& id) {
  constexpr std::string_view kA = ".lora_a", kB = ".lora_b";
  std::map<std::string, Pair> pairs;
  for (const auto& [name, stored] : adapter.tensors) {
    if (name.ends_with("_norm.weight")) continue;
    if (!name.ends_with(kA) && !name.ends_with(kB))
      return tl::unexpected(misfit(fmt::format("tensor {} is of no adapter", name), id));
    Pair& pair = pairs[name.substr(0, name.size() - kA.size())];
    (name.ends_with(kA) ? pair.a : pair.b) = &stored;
  }
  return pairs;
}

}  // namespace

Result<void> add_adapter(Model& model, const GgufHeader& adapter, const std::string& id) {
  const Result<std::map<std::string, Pair>> pairs = pairs_of(adapter, id);
  if (!pairs) return tl::unexpected(pairs.error());
  for (const auto& [name, pair] : *pairs) {
    const auto base = std::ranges::find(model.weights, name, &Weight::name);
    if (base == model.weights.end())
      return tl::unexpected(misfit(fmt::format("the model has no tensor {}", name), id));
    if (base->place == Place::input)
      return tl::unexpected(misfit("adapters of embeddings are not modelled", id));
    if (!pair.a || !pair.b)
      return tl::unexpected(misfit(fmt::format("one half of {} is missing", name), id));
    if (pair.a->ne[0] != base->ne[0] || pair.b->ne[1] != base->ne[1] ||
        pair.a->ne[1] != pair.b->ne[0])
      return tl::unexpected(misfit(fmt::format("the sizes of {} are not the model's", name), id));
    Weight half = *base;
    half.adapts = static_cast<int>(base - model.weights.begin());
    const std::size_t number = model.weights.size();  // several adapters can adapt one tensor
    for (const StoredWeight* stored : {pair.a, pair.b}) {
      half.name = fmt::format("{}.{}.lora_{}", name, number, stored == pair.a ? 'a' : 'b');
      half.local = half.name;
      half.ne = stored->ne;
      half.type = stored->type;
      model.weights.push_back(half);
    }
  }
  return {};
}

/// What is not said of a draft model by a flag of its own is as for the other.
Settings draft_settings(const Settings& settings, std::int64_t n_ctx) {
  Settings draft = settings;
  draft.n_ctx = n_ctx;
  draft.n_gpu_layers = settings.draft_gpu_layers;
  draft.type_k = settings.draft_type_k;
  draft.type_v = settings.draft_type_v;
  draft.quantize = settings.draft_quantize;
  draft.n_outputs_max = settings.n_seq_max;
  draft.n_snapshots = 0;
  draft.embeddings = draft.drafts = draft.cpu_moe = false;
  draft.n_cpu_moe = 0;
  draft.pooling = Pooling::as_the_model;
  draft.overrides.clear();
  return draft;
}

void add_draft_memory(ServerMemory& memory, const ServerMemory& draft) {
  memory.draft_devices = draft.devices;
  memory.draft_caches = draft.caches;
  std::ranges::transform(memory.page_rests, draft.page_rests, memory.page_rests.begin(),
                         std::plus<>());
  for (const BufferBytes& of : draft.buffers) {
    auto at = std::ranges::find(memory.buffers, of.name, &BufferBytes::name);
    if (at == memory.buffers.end())
      at = memory.buffers.insert(memory.buffers.end(), BufferBytes{.name = of.name});
    at->model += of.model;
    at->context += of.context;
    at->compute += of.compute;
  }
}

}  // namespace memtape::llamacpp
