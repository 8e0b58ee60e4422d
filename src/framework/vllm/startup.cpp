// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/startup.h"

#include <algorithm>

#include "framework/vllm/captured_collectives.h"
#include "framework/vllm/captured_kernels.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/graphs.h"
#include "framework/vllm/kv_cache.h"
#include "framework/vllm/models/encoder_run.h"
#include "framework/vllm/models/model.h"
#include "framework/vllm/models/vision.h"
#include "framework/vllm/ops.h"
#include "framework/vllm/runner_state.h"
#include "framework/vllm/speculator.h"
#include "framework/vllm/storages.h"
#include "framework/vllm/v1_sampler.h"

namespace memtape::vllm {
namespace {

/// input_batch.py, InputBatch.make_dummy.
struct DummyBatch {
  explicit DummyBatch(std::int64_t requests) {
    idx_mapping = kernel_output("arange", {requests}, DType::int64);
    expanded_local_pos = kernel_output("zeros", {requests}, DType::int32);
    scratch("cumsum", 1023);  // cub's scan asks for that many bytes
    logits_indices = kernel_output("sub", {requests}, DType::int32);
    cu_num_logits = kernel_output("arange", {requests + 1}, DType::int32);
  }
  Tensor idx_mapping, expanded_local_pos, logits_indices, cu_num_logits;
};

/// tensor[indices] with int32 indices: they are widened first.
Tensor indexed(const Tensor& tensor, std::int64_t rows) {
  const Tensor wide = kernel_output("to", {rows}, DType::int64);
  Dims sizes = tensor.sizes();
  sizes[0] = rows;
  return kernel_output("index", sizes, tensor.dtype());
}

class Worker {
 public:
  Worker(const Config& config, const Settings& settings, const Quantization* quantization)
      : settings_(settings),
        runtime_(settings, config, quantization),
        tree_(settings.dtype),
        place_(runtime_, nn::Scope(tree_, tree_.root()), "") {}

  void build(ModelFactory factory, const SpeculatorPlan& plan, Startup& startup) {
    is_v2_ = settings_.runner == Runner::v2;
    const Config& read = plan.config ? *plan.config : runtime_.config;
    runner_.emplace(settings_, read.integer({"hidden_size", "n_embd"}, 0));
    startup.stages.runner = at();
    // Importing a model's file makes a constant on the device (fused_moe/oracle/int_wna16.py); with
    // a quantized model it was made on the host before.
    if (!runtime_.quantization) runtime_.kept.push_back(kernel_output("tensor", {8}, DType::int64));
    if (settings_.parallel.first_stage()) make_vision_tower(place_ / "visual", tower_of(settings_));
    model_ = factory(place_);
    startup.offloaded_bytes = runtime_.offloaded;
    if (settings_.cpu_offload > 0 && runtime_.offloaded == 0)
      ghost::session().fail({ErrorKind::unsupported, "host memory is not modelled for this model",
                             "--cpu-offload-gb", "leave it out"});
    if (settings_.pooling && settings_.pooling->labels > 0 && settings_.parallel.last_stage())
      score_ = (place_ / "score")
                   .parameter("weight", {settings_.pooling->labels, model_->hidden_size()},
                              DType::float32);
    process_weights(startup);
    if (settings_.lora)
      for (Tensor& buffer : make_lora_buffers(runtime_.lora_sites, settings_))
        runtime_.kept.push_back(std::move(buffer));
    if (plan.has_weights() && settings_.parallel.last_stage()) {
      speculator_.emplace(plan, place_);
      process_weights(startup);
      speculator_->share_tables(*model_);
    }
    startup.stages.weights = at();
    if (settings_.parallel.last_stage() && is_v2_ && !settings_.pooling)
      sampler_.emplace(settings_, runtime_.config.dimension({"vocab_size", "padded_vocab_size"}));
    if (is_v2_) make_intermediate_tensors();
    if (std::ranges::any_of(runtime_.kv_layers,
                            [](const KvLayer& layer) { return layer.kind == KvKind::mamba; }))
      for (int i = 0; i < (settings_.prefix_caching ? 4 : 1); ++i)  // MambaHybridModelState
        runtime_.kept.push_back(kernel_output("zeros", {settings_.max_num_seqs}, DType::int32));
    startup.stages.loaded = at();
    const StorageBytes storages = storages_of(tree_.root());
    startup.weights_bytes = storages.all;
    startup.parameter_bytes = storages.parameters;
    startup.kv_layers = runtime_.kv_layers;
  }

  void profile(Startup& startup) {
    const std::int64_t all = profiled_tokens();
    const std::int64_t requests = profiled_requests();
    // A draft model's batch has a place more for each request (num_extra_query_per_req).
    const bool adds_places = settings_.speculation.proposer == Proposer::draft_model;
    const std::int64_t tokens = adds_places ? std::max<std::int64_t>(1, all - requests) : all;
    std::vector<Tensor> encoder_cache;  // until the run ends
    if (settings_.encoders && settings_.parallel.first_stage())
      encoder_cache = run_encoders(runtime_, *settings_.encoders);
    Tensor hidden_states, sample_hidden_states;
    if (!is_v2_) make_intermediate_tensors();
    {
      std::optional<DummyBatch> batch;
      if (is_v2_) batch.emplace(requests);
      if (settings_.compiles) compile(startup);
      const std::size_t from = at();
      hidden_states = model_->forward(profiled_ids(tokens), stream_);
      startup.graphs.piece_kernels = kernels_since(from);  // attention's kernels do not run here
      startup.graphs.sums = captured_sums(ghost::session().tape, from);
      const std::vector<Tensor> inner_states = model_->take_inner_states();
      if (speculator_) speculator_->propose(*runner_, tokens, requests, inner_states);
      if (settings_.parallel.last_stage()) sample_hidden_states = indexed(hidden_states, requests);
    }
    if (!is_v2_) runtime_.workspace.release();
    if (!sample_hidden_states.defined() || !settings_.samples_in_profile) return;
    if (settings_.last_logits_in_profile != Settings::LastLogits::none) {
      const bool of_all = settings_.last_logits_in_profile == Settings::LastLogits::of_all_tokens;
      model_->compute_logits(of_all ? hidden_states : sample_hidden_states);
      return;
    }
    if (settings_.pooling)
      pool(hidden_states, requests);
    else if (is_v2_)
      sample(sample_hidden_states, requests);
    else
      sample_as_v1(model_->compute_logits(sample_hidden_states));
  }

  /// capture_model of either runner, and profile_cudagraph_memory, which captures the same before
  /// the cache exists: the largest graphs of each kind, each after a warm-up, beside a least KV
  /// cache. The pool that graphs share is a stream of its own here: no other memory is used in it.
  void capture(Startup& startup) {
    const Settings& s = settings_;
    if (!(s.full_graphs || s.piecewise_graphs) || s.capture_sizes.empty()) return;
    const std::vector<std::int64_t> full = full_graph_sizes(s);
    const std::int64_t each = captures_of_a_size(s);
    if (s.piecewise_graphs) startup.graphs.pieces = std::ssize(s.capture_sizes) * each;
    startup.graphs.whole = std::ssize(full) * each;
    startup.graphs.adapter_layers = std::ssize(runtime_.lora_sites);
    const std::vector<Tensor> cache = least_kv_cache();
    ghost::session().tape.empty_cache();
    startup.stages.graphs = at();
    runtime_.has_metadata = true;
    runtime_.use_own_stream();
    Tensor stored;
    if (s.piecewise_graphs) take(s.capture_sizes.back(), stored);
    if (!full.empty()) startup.graphs.whole_kernels = take(full.back(), stored);
    const std::size_t second = each > 1 ? 1 : 2;
    if (full.size() >= second) run_captured(full[full.size() - second], false, stored);
    startup.stages.graphs_taken = at();
  }

  /// warmup_kernels of worker/gpu/warmup.py: a step of as many requests as there may be, with top-k
  /// and top-p. The V1 runner's sampler did the same in its profile.
  void warm_up() {
    if (!is_v2_ || !settings_.parallel.last_stage() || settings_.pooling) return;
    const std::int64_t requests =
        std::min(settings_.max_num_batched_tokens, settings_.max_num_seqs);
    const Dims sizes{requests, model_->hidden_size()};
    const Tensor logits = model_->compute_logits(kernel_output("index", sizes, settings_.dtype));
    const Tensor wide = kernel_output("to", logits.sizes(), DType::float32);
    runtime_.kept.push_back(mask_in_place(wide, settings_.device.traits.sm_count));
  }

 private:
  static constexpr StreamId kPool = 2;

  /// The V0 engine's prompts of images, which may be longer than its batch.
  bool profiles_prompts() const {
    const auto& encoders = settings_.encoders;
    return encoders && encoders->profiles && encoders->prompts > 0;
  }
  std::int64_t profiled_tokens() const {
    const std::int64_t all = settings_.max_num_batched_tokens;
    if (!profiles_prompts() || settings_.encoders->items == 0) return all;
    return std::max(all, settings_.encoders->prompts * settings_.encoders->prompt_tokens);
  }
  std::int64_t profiled_requests() const {
    if (profiles_prompts()) return settings_.encoders->prompts;
    return std::min(settings_.max_num_batched_tokens, settings_.max_num_seqs);
  }
  Tensor profiled_ids(std::int64_t tokens) const {
    if (tokens > settings_.max_num_batched_tokens)
      return kernel_output("tensor", {tokens}, DType::int64);
    return runner_->input_ids().slice(0, 0, tokens);
  }

  /// A step of decoding; how many tensors it makes.
  std::int64_t run_captured(std::int64_t tokens, bool captures, Tensor& stored) {
    {
      const DummyBatch batch(tokens);
    }
    Stream input;
    if (stream_.hidden.defined()) input.hidden = stream_.hidden.slice(0, 0, tokens);
    if (stream_.residual.defined()) input.residual = stream_.residual.slice(0, 0, tokens);
    const StreamId own = ghost::session().stream;
    ghost::session().stream = captures ? kPool : own;
    const std::size_t from = at();
    const Tensor hidden = model_->forward(runner_->input_ids().slice(0, 0, tokens), input);
    const std::int64_t kernels = kernels_since(from);
    if (!stored.defined()) stored = kernel_output("empty_like", hidden.sizes(), hidden.dtype());
    ghost::session().stream = own;
    return kernels;
  }

  std::int64_t take(std::int64_t tokens, Tensor& stored) {
    run_captured(tokens, false, stored);
    ghost::session().tape.empty_cache();
    return run_captured(tokens, true, stored);
  }

  std::int64_t kernels_since(std::size_t from) const {
    return captured_kernels(ghost::session().tape, from, settings_.compiles);
  }

  /// What Inductor holds at most, of one recorded start-up: a copy of the embedding's table, two
  /// hidden states, token ids and a row. What it leaves in the cache is not known.
  void compile(Startup& startup) const {
    const std::int64_t hidden = model_->hidden_size(), tokens = settings_.max_num_batched_tokens;
    const std::int64_t rows =
        runtime_.config.dimension({"vocab_size", "padded_vocab_size"}) / settings_.parallel.tp;
    {
      const Tensor table = kernel_output("compile", {rows, hidden}, settings_.dtype);
      const Tensor first = kernel_output("compile", {tokens, hidden}, settings_.dtype);
      const Tensor second = kernel_output("compile", {tokens, hidden}, settings_.dtype);
      const Tensor ids = kernel_output("compile", {tokens}, DType::int32);
      const Tensor row = kernel_output("compile", {hidden}, settings_.dtype);
      for (const Tensor& held : {table, first, second, ids, row})
        startup.compile_bytes += held.nbytes();
    }
    ghost::session().tape.empty_cache();
  }

  /// _init_minimal_kv_cache_for_profiling: block tables and a block for each request.
  std::vector<Tensor> least_kv_cache() const {
    std::vector<Tensor> kept;
    const auto groups = kv_groups(runtime_.kv_layers, settings_);
    if (!groups) return kept;
    const Settings& s = settings_;
    const std::int64_t blocks = std::max<std::int64_t>(
        1, std::min(s.max_num_seqs, s.capture_sizes.empty() ? 1 : s.capture_sizes.back()));
    for (const KvGroupPlan& group : *groups) {
      const Dims table{s.max_num_seqs, ceil_div(s.max_model_len, group.spec.block_size)};
      for (int i = 0; i < 2; ++i) kept.push_back(kernel_output("empty", table, DType::int32));
      kept.push_back(kernel_output("zeros", {s.max_num_batched_tokens}, DType::int64));
    }
    Bytes bytes = 0;
    for (const KvGroupPlan& group : *groups) {
      Bytes of_group = 0;
      for (const KvLayer& layer : group.layers) of_group += layer.page_bytes();
      bytes = std::max(bytes, of_group);
    }
    kept.push_back(kernel_output("allocate_kv_cache", {blocks * bytes}, DType::uint8));
    return kept;
  }

  /// BaseModelLoader.load_model: what loading leaves is processed, and the cache emptied.
  void process_weights(Startup& startup) {
    const std::size_t kept_before = runtime_.kept.size();
    for (const auto& quantize : runtime_.while_loading) quantize();
    runtime_.referred.clear();
    ghost::session().tape.empty_cache();
    for (const auto& process : runtime_.after_loading) process();
    for (const auto& process : runtime_.after_attention) process();
    ghost::session().tape.empty_cache();
    runtime_.while_loading.clear();
    runtime_.after_loading.clear();
    runtime_.after_attention.clear();
    for (std::size_t i = kept_before; i < runtime_.kept.size(); ++i)
      startup.repacked_bytes += runtime_.kept[i].nbytes();
  }

  static std::size_t at() { return ghost::session().tape.events.size(); }

  void sample_as_v1(const Tensor& logits) {
    if (settings_.release.has(changes::kVllmMasksLogitsInPlace))
      runtime_.kept.push_back(sample_in_place(logits, settings_.device.traits.sm_count));
    else
      sample_by_sorting(logits);
  }

  /// _dummy_pooler_run: each task of the model in its turn, and the one with the most output again.
  void pool(const Tensor& hidden_states, std::int64_t requests) {
    const std::int64_t each = hidden_states.size(0) / requests;
    const Tensor token_ids = kernel_output("zeros", {requests, each}, DType::int32);
    pooled(indexed(hidden_states, requests));  // the last token of each
    for (int run = 0; run < 2; ++run) {
      std::vector<Tensor> outputs;
      for (std::int64_t i = 0; i < requests; ++i)
        outputs.push_back(pooled(hidden_states.slice(0, i * each, (i + 1) * each)));
    }
  }

  /// In float32: normalized, or the probabilities of the labels.
  Tensor pooled(const Tensor& rows) {
    const Tensor wide = kernel_output("to", rows.sizes(), DType::float32);
    if (!score_.defined()) return kernel_output("div", rows.sizes(), DType::float32);
    const Tensor logits = kernel_output("linear", {rows.size(0), score_.size(0)}, DType::float32);
    return kernel_output("softmax", logits.sizes(), DType::float32);
  }

  /// What a stage is given: V2's model state makes it with the model, V1's first _dummy_run.
  void make_intermediate_tensors() {
    if (settings_.parallel.first_stage()) return;
    const Dims sizes{settings_.max_num_batched_tokens, model_->hidden_size()};
    stream_.hidden = kernel_output("zeros", sizes, settings_.dtype);
    if (model_->intermediate_tensors() > 1)
      stream_.residual = kernel_output("zeros", sizes, settings_.dtype);
  }

  /// _dummy_sampler_run: logits, then Gumbel sampling (sample/gumbel.py).
  void sample(const Tensor& hidden_states, std::int64_t requests) {
    constexpr std::int64_t kBlock = 1024;
    const Tensor logits = model_->compute_logits(hidden_states);
    const DummyBatch batch(requests);
    const Tensor pos = indexed(runner_->positions(), requests);
    const Tensor input_ids = indexed(runner_->input_ids(), requests);
    const std::int64_t blocks =
        (runtime_.config.dimension({"vocab_size", "padded_vocab_size"}) + kBlock - 1) / kBlock;
    Tensor sampled;
    {
      const Tensor argmax = kernel_output("empty", {requests, blocks}, DType::int64);
      const Tensor max = kernel_output("empty", {requests, blocks}, DType::float32);
      const Tensor block = kernel_output("argmax", {requests, 1}, DType::int64);
      sampled = kernel_output("gather", {requests, 1}, DType::int64);
    }
    const Tensor num_sampled = kernel_output("new_ones", {requests}, DType::int32);
    const Tensor num_rejected = kernel_output("empty", {requests}, DType::int32);
  }

  const Settings& settings_;
  bool is_v2_ = true;
  Runtime runtime_;
  nn::ModuleTree tree_;
  Place place_;
  std::optional<RunnerState> runner_;
  std::unique_ptr<ServedModel> model_;
  std::optional<Speculator> speculator_;
  std::optional<SamplerState> sampler_;
  Tensor score_;  ///< of a classifier
  Stream stream_;
};

/// max_split_size_mb:20 while weights are loaded and while the profile run lasts.
AllocatorConfig split_limited(AllocatorConfig config) {
  constexpr Bytes kLimit = Bytes{20} << 20;
  config.max_split_size = kLimit;
  return config;
}

Bytes peak_of(const Timeline& timeline, StartupFigures& figures) {
  Bytes peak = 0;
  for (const Window& window : timeline.windows) {
    if (window.peak.allocated > peak) {
      peak = window.peak.allocated;
      figures.peak_event = window.peak_event;
    }
    figures.peak_reserved = std::max(figures.peak_reserved, window.peak.reserved);
  }
  return peak;
}

std::vector<Bytes> holes_of(const CachingAllocator& allocator) {
  std::vector<Bytes> holes;
  for (const SegmentView& segment : allocator.segments())
    for (const memtape::Block* block : segment.blocks)
      if (!block->allocated) holes.push_back(block->size);
  return holes;
}

/// What follows once the model is built.
void run_built(Worker& worker, Startup& startup) {
  Tape& tape = ghost::session().tape;
  StartupStages& stages = startup.stages;
  tape.empty_cache();
  stages.profile = tape.events.size();
  worker.profile(startup);
  stages.profiled = tape.events.size();
  tape.empty_cache();
  stages.settled = stages.graphs = stages.graphs_taken = tape.events.size();
  worker.capture(startup);
  tape.empty_cache();
  stages.warm_up = tape.events.size();
  worker.warm_up();
  stages.warm = tape.events.size();
}

}  // namespace

Result<Startup> run_startup(const Config& config, const Settings& settings,
                            const Quantization* quantization) {
  const Result<ModelFactory> factory = model_factory(config);
  if (!factory) return tl::unexpected(factory.error());
  const Result<SpeculatorPlan> speculator = plan_speculator(config, settings);
  if (!speculator) return tl::unexpected(speculator.error());
  Startup startup;
  ghost::Session session(settings.device.traits);
  const ghost::GradMode inference(false);
  {
    Worker worker(config, settings, quantization);
    worker.build(*factory, *speculator, startup);
    if (!session.error && config.check()) run_built(worker, startup);
    session.finished = true;
  }
  if (session.error) return tl::unexpected(*session.error);
  if (const Result<void> read = config.check(); !read) return tl::unexpected(read.error());
  startup.tape = std::move(session.tape);
  return startup;
}

StartupFigures play_startup(const Startup& startup, const Settings& settings) {
  const DeviceFacts& device = settings.device;
  StartupFigures figures;
  const StartupStages& stages = startup.stages;
  const std::unique_ptr<Driver> driver =
      make_driver(device.placement, {.total = kUnlimited, .outside = device.context});
  CachingAllocator allocator(*driver);
  allocator.set_config(device.allocator);
  Played played;
  const auto until = [&](std::size_t from, std::size_t to) {
    return play(startup.tape, allocator, played, {.from = from, .to = to});
  };
  figures.runner = until(0, stages.runner).final_levels;
  const AllocatorConfig loading =
      settings.counts_device() ? split_limited(device.allocator) : device.allocator;
  allocator.set_config(loading);
  figures.weights = until(stages.runner, stages.weights).final_levels;
  figures.loading =
      play_loading(startup.tape, {.from = stages.runner, .to = stages.weights}, settings, loading);
  until(stages.weights, stages.loaded);
  allocator.set_config(device.allocator);
  const Bytes before = until(stages.loaded, stages.profile).final_levels.allocated;
  allocator.set_config(loading);
  const Timeline profile = until(stages.profile, stages.profiled);
  allocator.set_config(device.allocator);
  figures.profiled = until(stages.profiled, stages.settled).final_levels;
  figures.peak_allocated = std::max(peak_of(profile, figures), before);
  figures.holes = holes_of(allocator);
  const Bytes uncaptured = until(stages.settled, stages.graphs).final_levels.reserved;
  const Bytes captured = until(stages.graphs, stages.graphs_taken).final_levels.reserved;
  if (stages.graphs_taken > stages.graphs) figures.graph_pool = captured - uncaptured;
  const Bytes cold = until(stages.graphs_taken, stages.warm_up).final_levels.allocated;
  StartupFigures warm;
  const Bytes hot = peak_of(until(stages.warm_up, stages.warm), warm);
  figures.warm_up = std::max<Bytes>(0, hot - cold);
  figures.consumed = figures.profiled.reserved;
  figures.torch_peak_increase = figures.peak_allocated - before;
  figures.headroom = figures.peak_allocated - figures.profiled.allocated;
  figures.sizes = std::move(played.sizes);
  return figures;
}

}  // namespace memtape::vllm
