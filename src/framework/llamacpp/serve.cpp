// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/serve.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/pattern.h"
#include "framework/llamacpp/context_sizes.h"
#include "framework/llamacpp/fit.h"
#include "framework/llamacpp/gguf_header.h"
#include "framework/llamacpp/hf_conversion.h"
#include "framework/llamacpp/model_reader.h"
#include "framework/llamacpp/projector.h"
#include "framework/llamacpp/side_models.h"

namespace memtape::llamacpp {
namespace {

std::string truth(bool value) { return value ? "true" : "false"; }

std::vector<Setting> workload_of(const Settings& s, const ServerMemory& memory) {
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  const auto type = [](ggml::Type t) { return json_quoted(ggml::traits(t).name); };
  return {{"ctx_size", number(memory.sizes.n_ctx)},
          {"ctx_per_sequence", number(memory.sizes.n_ctx_seq)},
          {"batch_size", number(memory.sizes.n_batch)},
          {"ubatch_size", number(memory.sizes.n_ubatch)},
          {"parallel", number(s.n_seq_max)},
          {"kv_unified", truth(s.kv_unified)},
          {"flash_attn", truth(memory.flash)},
          {"cache_type_k", type(s.type_k)},
          {"cache_type_v", type(s.type_v)},
          {"n_gpu_layers", number(memory.sizes.n_gpu_layers)},
          {"n_outputs_max", number(memory.sizes.n_outputs_max)},
          {"quantize", s.quantize ? json_quoted(name(*s.quantize)) : "null"}};
}

/// The layers of one cache that lie in a buffer.
void add_group(KvCache& cache, const CachePlan& plan, const KvCachePlan& of,
               const ggml::BufferType* buffer, std::string kind) {
  KvGroup group;
  group.kind = std::move(kind);
  group.tokens = of.cells * plan.streams;
  group.key_type = ggml::traits(plan.type_k).name;
  for (const LayerCache& layer : of.layers) {
    if (layer.buffer->name() != buffer->name()) continue;
    ++group.layers;
    group.bytes_per_token += ggml::row_size(plan.type_k, layer.k[0]);
    if (layer.v[0] == 0) continue;
    group.bytes_per_token += ggml::row_size(plan.type_v, layer.v[0]);
    group.value_type = ggml::traits(plan.type_v).name;
  }
  group.bytes = group.bytes_per_token * group.tokens;
  if (group.layers > 0) cache.layers.push_back(std::move(group));
}

void add_states(KvCache& cache, const CachePlan& plan, const ggml::BufferType* buffer) {
  KvGroup group;
  group.kind = "recurrent";
  for (const RecurrentLayer& layer : plan.recurrent)
    if (layer.buffer->name() == buffer->name()) ++group.layers;
  group.bytes =
      4 * group.layers * plan.state_rows * plan.snapshots * (plan.n_embd_r + plan.n_embd_s);
  if (group.layers > 0) cache.layers.push_back(std::move(group));
}

KvCache cache_of(const ServerMemory& memory, const BufferBytes& buffer, bool mla) {
  const ggml::BufferType named(buffer.name, 1, 0);
  KvCache cache;
  add_group(cache, memory.caches, memory.caches.full, &named, mla ? "mla" : "full_attention");
  add_group(cache, memory.caches, memory.caches.window, &named, "sliding_window");
  add_group(cache, memory.caches, memory.caches.indexer, &named, "indexer");
  add_states(cache, memory.caches, &named);
  add_group(cache, memory.draft_caches, memory.draft_caches.full, &named, "draft");
  add_group(cache, memory.draft_caches, memory.draft_caches.window, &named, "draft");
  cache.bytes = buffer.context;
  cache.tokens = memory.sizes.n_ctx;
  cache.max_concurrency =
      static_cast<double>(memory.sizes.n_ctx) / static_cast<double>(memory.sizes.n_ctx_seq);
  if (cache.layers.size() == 1 && cache.layers.front().tokens > 0)
    cache.bytes_per_token = cache.layers.front().bytes_per_token;
  return cache;
}

ServeRank rank_of(int gpu, const ServerMemory& memory, const ServeRequest& request, bool mla) {
  const BufferBytes& buffer = memory.buffers[static_cast<std::size_t>(gpu)];
  ServeRank rank;
  rank.ranks = {gpu};
  rank.weights_bytes = buffer.model;
  rank.activation_peak_bytes = buffer.compute;
  rank.non_torch_bytes =
      request.device.context_bytes() + memory.page_rests[static_cast<std::size_t>(gpu)];
  rank.kv_cache = cache_of(memory, buffer, mla);
  rank.at_peak[Category::parameter] = buffer.model;
  rank.at_peak[Category::kv_cache] = buffer.context;
  rank.at_peak[Category::temporary] = buffer.compute;
  rank.at_peak[Category::context] = rank.non_torch_bytes;
  rank.peak_device_bytes = rank.at_peak.total();
  return rank;
}

/// Without a GPU: all in host memory, which is judged where its size is known.
void judge_host(const ServerMemory& memory, Bytes total, bool mla, ServeAnswer& answer) {
  const BufferBytes& buffer = memory.buffers.front();
  ServeRank rank;
  rank.weights_bytes = buffer.model;
  rank.activation_peak_bytes = buffer.compute;
  rank.kv_cache = cache_of(memory, buffer, mla);
  rank.at_peak[Category::parameter] = buffer.model;
  rank.at_peak[Category::kv_cache] = buffer.context;
  rank.at_peak[Category::temporary] = buffer.compute;
  rank.peak_device_bytes = rank.at_peak.total();
  answer.ranks.push_back(std::move(rank));
  answer.device = DeviceSummary{.name = "host memory",
                                .id = "host",
                                .total_bytes = total,
                                .context_bytes = 0,
                                .source = "--host-memory-bytes"};
}

/// From a GGUF file, from what gguf-dump prints of one, or from what would be converted to one.
Result<Model> model_of(const SideModel& request, const Settings& settings) {
  if (request.gguf)
    return read_model(request.gguf->metadata, &request.gguf->tensors, std::nullopt, settings);
  if (!request.config)
    return bad_input("llama.cpp needs a config or a GGUF file", request.id,
                     "a .gguf file, what gguf-dump --json prints of it, or a config.json");
  if (request.config->has("metadata")) {
    const Result<Metadata> metadata = Metadata::parse(*request.config);
    if (!metadata) return tl::unexpected(metadata.error());
    return read_model(*metadata, nullptr, std::nullopt, settings);
  }
  const Result<Converted> converted = convert(*request.config);
  if (!converted) return tl::unexpected(converted.error());
  return read_model(converted->metadata, nullptr, converted->choices, settings);
}

/// The model with its adapters.
Result<Model> served_model(const ServeRequest& request, const Settings& settings) {
  Result<Model> model = model_of({request.id, request.config, request.gguf}, settings);
  if (!model) return model;
  for (const SideModel& adapter : request.adapters) {
    if (is_projector(adapter)) continue;
    if (Result<void> added = add_adapter(*model, *adapter.gguf, adapter.id); !added)
      return tl::unexpected(added.error());
  }
  return model;
}

/// What the model takes that drafts; nothing without one.
Result<std::optional<ServerMemory>> draft_memory(const ServeRequest& request, const Model& model,
                                                 const Settings& settings) {
  if (request.draft.id.empty()) return std::optional<ServerMemory>();
  const Settings own = draft_settings(settings, context_sizes(settings, model.hp).n_ctx);
  const Result<Model> draft = model_of(request.draft, own);
  if (!draft) return tl::unexpected(draft.error());
  Result<ServerMemory> memory = server_memory(*draft, own);
  if (!memory) return tl::unexpected(memory.error());
  return std::optional(*std::move(memory));
}

constexpr Bytes kFitTarget = Bytes{1} << 30;  ///< --fit-target: what is to stay free

/// What --fit has changed.
std::vector<std::pair<std::string, std::string>> flags_of(const Settings& found,
                                                          const Settings& typed) {
  std::vector<std::pair<std::string, std::string>> flags;
  if (found.n_gpu_layers != typed.n_gpu_layers)
    flags.emplace_back("n-gpu-layers", fmt::format("{}", found.n_gpu_layers));
  if (found.n_cpu_moe != typed.n_cpu_moe)
    flags.emplace_back("n-cpu-moe", fmt::format("{}", found.n_cpu_moe));
  return flags;
}

/// What llama-server itself may change: what says nothing of the context, or of where layers lie.
std::optional<Freedom> unsaid(const ServeRequest& request, const Settings& settings) {
  const ServeOptions& options = request.options;
  if (!options.has("fit-unsaid") || options.has("fit")) return std::nullopt;
  if (!settings.build.fits_what_is_unsaid()) return std::nullopt;
  if (settings.gpus() == 0 || settings.splits_rows || !request.device.total_bytes())
    return std::nullopt;
  const auto is_said = [&](std::string_view name) { return options.has(name); };
  constexpr std::array<std::string_view, 5> kPlaces{"n-gpu-layers", "tensor-split",
                                                    "override-tensor", "n-cpu-moe", "cpu-moe"};
  return Freedom{.context = !options.has("ctx-size"),
                 .layers = std::ranges::none_of(kPlaces, is_said)};
}

/// With the flags that were typed, or, with --fit, with those that fit.
Result<Fitted> loaded(const Model& model, const Settings& settings, const ServeRequest& request,
                      const std::optional<ServerMemory>& draft,
                      const std::optional<Projector>& projector) {
  const std::optional<Freedom> own = unsaid(request, settings);
  if (!request.options.has("fit") && !own) {
    Result<ServerMemory> memory = server_memory(model, settings);
    if (!memory) return tl::unexpected(memory.error());
    return Fitted{settings, *std::move(memory), ""};
  }
  const std::optional<Bytes> total = request.device.total_bytes();
  if (settings.gpus() == 0)
    return bad_input("there is no GPU that layers could lie on", "--fit", "without --device none");
  if (!total) return bad_input("needs a device to fit", "--fit", "name one with --gpu");
  std::vector<Bytes> rooms(static_cast<std::size_t>(settings.gpus()),
                           *total - request.device.context_bytes() - kFitTarget);
  for (std::size_t gpu = 0; draft && gpu < rooms.size(); ++gpu) {
    const BufferBytes& taken = draft->buffers[gpu];
    rooms[gpu] -= taken.model + taken.context + taken.compute;
  }
  if (projector && projector->on_gpu && settings.device_numbers.front() == 0)
    rooms.front() -= projector->weights;
  if (!own) return fit(model, settings, std::move(rooms), Freedom{});
  Result<Fitted> fitted = fit(model, settings, std::move(rooms), *own);
  if (!fitted) return fitted;
  const bool leaves_layers = own->layers && (fitted->settings.n_cpu_moe != settings.n_cpu_moe ||
                                             fitted->settings.n_gpu_layers <= model.hp.n_layer_all);
  fitted->note = fitted->settings.n_ctx != settings.n_ctx || leaves_layers
                     ? "llama-server fits what is not said (--fit off leaves it): " + fitted->note +
                           (leaves_layers ? "; the CPU computes the rest" : "")
                     : "";
  return fitted;
}

/// What a converted checkpoint's own quantization becomes.
void warn_of_checkpoint(const ServeRequest& request, const Settings& settings,
                        std::vector<std::string>& warnings) {
  if (request.gguf || !request.config || settings.quantize) return;
  const std::string method = request.config->object("quantization_config").text("quant_method", "");
  if (method == "mxfp4")
    warnings.emplace_back(
        "the checkpoint's experts are MXFP4 and stay so, the rest is Q8_0, as in ggml-org's files "
        "(llama-quantize's MXFP4_MOE)");
  else if (!method.empty())
    warnings.push_back(
        fmt::format("convert_hf_to_gguf writes the checkpoint's {} out in 16 bits: --quantize says "
                    "what the file holds",
                    method));
}

/// llama.cpp lets a pattern pass that no tensor's name holds; people then wonder why it is not on
/// the host.
void warn_of_idle_overrides(const Model& model, const Settings& settings,
                            std::vector<std::string>& warnings) {
  for (const auto& [pattern, target] : settings.overrides)
    if (std::ranges::none_of(model.weights, [&pattern = pattern](const Weight& weight) {
          return search(pattern, weight.name).value_or(true);
        }))
      warnings.push_back(
          fmt::format("--override-tensor {}={}: no tensor of this model has such a name, so that "
                      "nothing moves",
                      pattern, target));
}

}  // namespace

Result<ServeAnswer> serve(const ServeRequest& request) {
  const Result<Settings> settings = read_settings(request);
  if (!settings) return tl::unexpected(settings.error());
  const Result<Model> model = served_model(request, *settings);
  if (!model) return tl::unexpected(model.error());
  const Result<std::optional<ServerMemory>> draft = draft_memory(request, *model, *settings);
  if (!draft) return tl::unexpected(draft.error());
  const Result<std::optional<Projector>> projector = projector_of(request, *settings);
  if (!projector) return tl::unexpected(projector.error());
  Result<Fitted> fitted = loaded(*model, *settings, request, *draft, *projector);
  if (!fitted) return tl::unexpected(fitted.error());
  if (*draft) add_draft_memory(fitted->memory, **draft);
  if (*projector) add_projector_memory(fitted->memory, **projector);
  const ServerMemory& memory = fitted->memory;
  ServeAnswer answer;
  answer.model = {.id = request.id,
                  .family = model->hp.arch,
                  .parameters = model->parameters(),
                  .trainable_parameters = 0,
                  .weight_bytes = model->file_bytes()};
  answer.workload = workload_of(fitted->settings, memory);
  answer.mesh = {{"gpus", fmt::format("{}", settings->gpus())}};
  answer.buffers = memory.buffers;
  if (!fitted->note.empty()) {
    answer.notes.push_back(fitted->note);
    answer.fitted = flags_of(fitted->settings, *settings);
  }
  answer.warnings = model->warnings;
  warn_of_checkpoint(request, *settings, answer.warnings);
  warn_of_idle_overrides(*model, *settings, answer.warnings);
  answer.warnings.insert(answer.warnings.end(), settings->warnings.begin(),
                         settings->warnings.end());
  if (settings->splits_rows)
    answer.warnings.emplace_back(
        "--split-mode row: each GPU's rows of each matrix are an allocation of their own; what "
        "CUDA adds to whole pages of 2 MiB is counted with the context");
  if (*projector)
    answer.warnings.emplace_back(
        "--mmproj: its weights are counted, what it computes in is not (hundreds of MiB)");
  for (int gpu = 0; gpu < settings->gpus(); ++gpu)
    answer.ranks.push_back(rank_of(gpu, memory, request, model->hp.is_mla()));
  if (settings->host_memory && settings->gpus() == 0)
    judge_host(memory, *settings->host_memory, model->hp.is_mla(), answer);
  return answer;
}

}  // namespace memtape::llamacpp
