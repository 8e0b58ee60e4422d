// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/server.h"

#include <algorithm>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "framework/llamacpp/row_split.h"

namespace memtape::llamacpp {
namespace {

class Loader {
 public:
  Loader(const Model& model, const Settings& settings)
      : model_(model),
        settings_(settings),
        owner_(std::make_shared<Devices>(settings)),
        devices_(*owner_),
        placement_(model.hp, settings, devices_),
        rows_(settings) {}

  Result<ServerMemory> load() {
    if (Result<void> placed = place(); !placed) return tl::unexpected(placed.error());
    Context own{memory_.caches, model_.architecture->build, memory_.sizes.n_outputs_max};
    Result<ggml::Schedule> prompt = prompt_of(own);
    if (!prompt) return tl::unexpected(prompt.error());
    memory_.flash = own.flash;
    memory_.splits = prompt->splits;
    if (settings_.drafts)
      if (Result<void> added = add_drafts(*prompt); !added) return tl::unexpected(added.error());
    gather(prompt->bytes);
    return std::move(memory_);
  }

  /// Before the first graph is built.
  Result<ServerMemory> load_weights_and_caches() {
    if (Result<void> placed = place(); !placed) return tl::unexpected(placed.error());
    gather(std::vector<Bytes>(devices_.backends().size()));
    return std::move(memory_);
  }

 private:
  /// The model's own, or that of its draft block.
  struct Context {
    const CachePlan& caches;
    void (*build)(GraphBuilder&);
    std::int64_t outputs;
    bool flash = true;
  };

  Result<ggml::Schedule> prompt_of(Context& context) const {
    context.flash = settings_.flash != FlashAttention::off;
    if (settings_.flash == FlashAttention::automatic && !ggml::is_quantized(settings_.type_v))
      if (Result<void> probed = probe_flash(context); !probed)
        return tl::unexpected(probed.error());
    const std::int64_t tokens = std::min(memory_.sizes.n_ctx, memory_.sizes.n_ubatch);
    return reserve(context, tokens, std::min(tokens, context.outputs), nullptr);
  }

  /// A second context on the same weights, with memory of its own (common/speculative.cpp).
  Result<void> add_drafts(ggml::Schedule& schedule) {
    const std::int64_t blocks = model_.hp.n_layer_all - model_.hp.n_layer();
    if (blocks == 0) return bad_input("the model has no draft block", "--spec-type", "ngram-mod");
    if (blocks > 1 || !model_.architecture->build_draft)
      return bad_input(fmt::format("the draft blocks of {} are not modelled", model_.hp.arch),
                       "--spec-type", "none");
    memory_.draft_caches = plan_draft_caches(model_.hp, settings_, devices_, placement_);
    Context drafts{memory_.draft_caches, model_.architecture->build_draft, settings_.n_seq_max};
    const Result<ggml::Schedule> prompt = prompt_of(drafts);
    if (!prompt) return tl::unexpected(prompt.error());
    for (std::size_t b = 0; b < schedule.bytes.size(); ++b) schedule.bytes[b] += prompt->bytes[b];
    return {};
  }

  Result<void> place() {
    if (Result<void> placed = place_weights(); !placed) return placed;
    if (Result<void> checked = check_caches(); !checked) return checked;
    memory_.devices = owner_;
    memory_.sizes = context_sizes(settings_, model_.hp);
    memory_.caches = plan_caches(model_.hp, settings_, devices_, placement_);
    return {};
  }

  Result<void> place_weights() {
    for (const Weight& weight : model_.weights) {
      if (weight.adapts >= 0 && settings_.splits_rows)
        return bad_input("adapters of matrices that are split by rows are not modelled", "--lora",
                         "--split-mode layer");
      if (weight.adapts >= 0) {  // where the weight lies that it adapts
        buffers_.push_back(buffers_[static_cast<std::size_t>(weight.adapts)]);
        continue;
      }
      const Result<const ggml::BufferType*> buffer = placement_.buffer_of(weight);
      if (!buffer) return tl::unexpected(buffer.error());
      buffers_.push_back(*buffer);
    }
    return {};
  }

  /// What a context refuses (llama_init_from_model, llama_context).
  Result<void> check_caches() const {
    const Hyperparameters& hp = model_.hp;
    if (latent_alone(hp, settings_) && settings_.type_k != settings_.type_v)
      return bad_input("its latent cache is K and V at a time: both need one type",
                       "--cache-type-v", std::string(ggml::traits(settings_.type_k).name));
    if (settings_.flash == FlashAttention::off) return {};
    const auto whole = [](ggml::Type type, std::int64_t head) {
      return !ggml::is_quantized(type) || head % ggml::block_size(type) == 0;
    };
    if (!whole(settings_.type_k, hp.head_k))
      return bad_input(fmt::format("heads of {} do not divide into its blocks", hp.head_k),
                       "--cache-type-k", "f16");
    if (!whole(settings_.type_v, hp.head_v))
      return bad_input(fmt::format("heads of {} do not divide into its blocks", hp.head_v),
                       "--cache-type-v", "f16");
    return {};
  }

  /// The schedule of one batch; `mismatch` is set when attention runs elsewhere than its layer.
  /// The pass that measures (ggml_backend_sched_reserve_size) resets the scheduler after the graph
  /// was built and so forgets what was pinned; the pass that probes does not.
  Result<ggml::Schedule> reserve(const Context& context, std::int64_t tokens, std::int64_t outputs,
                                 bool* mismatch) const {
    const std::int64_t seqs = settings_.n_seq_max;
    ggml::Graph graph;
    const GraphJob job{.hp = model_.hp,
                       .settings = settings_,
                       .placement = placement_,
                       .devices = devices_,
                       .caches = context.caches,
                       .weights = model_.weights,
                       .weight_buffers = buffers_,
                       .n_tokens = round_up(tokens, seqs),
                       .n_seqs = seqs,
                       .n_outputs = outputs,
                       .flash = context.flash};
    GraphBuilder builder(graph, job);
    context.build(builder);
    if (settings_.embeddings) builder.pool();
    if (!graph.failure().empty())
      return bad_input(fmt::format("its sizes contradict each other: {}", graph.failure()),
                       model_.hp.arch);
    ggml::Schedule schedule =
        ggml::schedule(graph,
                       {.backends = devices_.backends(),
                        .buffers = devices_.buffers(),
                        .parallel = placement_.pipelined(),
                        .copies_unused = settings_.build.copies_unused_inputs(),
                        .op_offload = settings_.op_offload},
                       mismatch || settings_.build.keeps_pins() ? builder.pins() : ggml::Pins{});
    if (mismatch)
      *mismatch = std::ranges::any_of(builder.flash_nodes(), [&](const auto& node) {
        const auto& [tensor, layer] = node;
        return schedule.backend_of[static_cast<std::size_t>(tensor->id)] != placement_.layer(layer);
      });
    return schedule;
  }

  /// Flash attention stays on when it runs where its layer is, for a batch of one token each.
  Result<void> probe_flash(Context& context) const {
    bool mismatch = false;
    const Result<ggml::Schedule> probe =
        reserve(context, settings_.n_seq_max, settings_.n_seq_max, &mismatch);
    if (!probe) return tl::unexpected(probe.error());
    context.flash = !mismatch;
    return {};
  }

  /// Whether all GPUs have rows of the weight: not if its own would have none.
  bool is_split(std::size_t i) const {
    const Weight& w = model_.weights[i];
    for (int gpu = 0; gpu < devices_.gpus(); ++gpu)
      if (buffers_[i] == &devices_.memory(gpu))
        return placement_.splits(w) && rows_.rows(w, gpu) > 0;
    return false;
  }

  /// The weights that are loaded to a buffer, or, of all GPUs, those that are split.
  template <class Wanted>
  std::vector<std::size_t> loaded(Wanted wanted) const {
    std::vector<std::size_t> found;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Weight& w = model_.weights[i];
      if (!wanted(i) || (w.skipped && !settings_.drafts)) continue;
      if (w.separate || seen.insert(w.name).second) found.push_back(i);
    }
    return found;
  }

  Bytes model_bytes(const ggml::BufferType& buffer) const {
    Bytes bytes = 0;
    const auto whole = [&](std::size_t i) { return buffers_[i] == &buffer && !is_split(i); };
    for (const std::size_t i : loaded(whole))
      bytes += placed_bytes(buffer, model_.weights[i].type, model_.weights[i].ne);
    return bytes;
  }

  void add_rows() {
    memory_.page_rests.resize(static_cast<std::size_t>(devices_.gpus()));
    for (const std::size_t i : loaded([&](std::size_t at) { return is_split(at); }))
      for (int gpu = 0; gpu < devices_.gpus(); ++gpu) {
        const Bytes bytes = rows_.bytes(model_.weights[i], gpu);
        memory_.buffers[static_cast<std::size_t>(gpu)].model += bytes;
        memory_.page_rests[static_cast<std::size_t>(gpu)] += RowSplit::held(bytes) - bytes;
      }
  }

  void add(const ggml::BufferType& buffer, Bytes compute) {
    const Bytes caches = memory_.caches.bytes_in(buffer) + memory_.draft_caches.bytes_in(buffer);
    BufferBytes b{buffer.name(), model_bytes(buffer), caches, compute};
    if (!buffer.is_host() || b.model + b.context + b.compute > 0)
      memory_.buffers.push_back(std::move(b));
  }

  /// `computed` are the bytes of the graphs, by backend.
  void gather(const std::vector<Bytes>& computed) {
    for (int b = 0; b < devices_.gpus(); ++b)
      add(devices_.memory(b), computed[static_cast<std::size_t>(b)]);
    const Bytes host = computed[static_cast<std::size_t>(devices_.cpu())];
    if (devices_.has_pinned()) add(devices_.pinned(), host);
    add(devices_.memory(devices_.cpu()), devices_.has_pinned() ? 0 : host);
    add_rows();
  }

  const Model& model_;
  const Settings& settings_;
  std::shared_ptr<Devices> owner_;
  Devices& devices_;
  Placement placement_;
  RowSplit rows_;
  std::vector<const ggml::BufferType*> buffers_;
  ServerMemory memory_;
};

/// The settings with which the architecture runs.
Result<Settings> taken_by(const Model& model, Settings settings) {
  if (!model.hp.never_flash || settings.flash == FlashAttention::off) return settings;
  if (ggml::is_quantized(settings.type_v))
    return bad_input(fmt::format("needs flash attention, which {} runs without", model.hp.arch),
                     "--cache-type-v", "f16");
  settings.flash = FlashAttention::off;
  return settings;
}

}  // namespace

Bytes Model::file_bytes() const {
  Bytes bytes = 0;
  for (const Weight& w : weights)
    if (!w.duplicate && w.adapts < 0) bytes += w.bytes();
  return bytes;
}

std::int64_t Model::parameters() const {
  std::int64_t count = 0;
  for (const Weight& w : weights)
    if (!w.duplicate && w.adapts < 0) count += w.ne[0] * w.ne[1] * w.ne[2] * w.ne[3];
  return count;
}

Result<ServerMemory> server_memory(const Model& model, const Settings& settings) {
  const Result<Settings> taken = taken_by(model, settings);
  return taken ? Loader(model, *taken).load() : tl::unexpected(taken.error());
}

Result<ServerMemory> weights_and_caches(const Model& model, const Settings& settings) {
  const Result<Settings> taken = taken_by(model, settings);
  return taken ? Loader(model, *taken).load_weights_and_caches() : tl::unexpected(taken.error());
}

}  // namespace memtape::llamacpp
