// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/startup.h"

#include "framework/sglang/expert_location.h"
#include "framework/sglang/loaded_experts.h"
#include "framework/vllm/captured_collectives.h"
#include "framework/vllm/captured_kernels.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/layers/rotary.h"
#include "framework/vllm/models/bert.h"
#include "framework/vllm/models/model.h"
#include "framework/vllm/models/vision.h"
#include "framework/vllm/ops.h"
#include "framework/vllm/storages.h"
#include "tape/tape.h"
#include "timeline/play.h"

namespace memtape::sglang {
namespace {

using vllm::kernel_output;
using vllm::Tensor;

/// Event indices: each names the first event after the stage.
struct Stages {
  std::size_t begun = 0, loaded = 0, prefilled = 0, settled = 0, captured = 0;
};

class Worker {
 public:
  Worker(const Config& config, const vllm::Settings& settings,
         const vllm::Quantization* quantization)
      : settings_(settings),
        runtime_(settings, config, quantization),
        tree_(settings.dtype),
        place_(runtime_, nn::Scope(tree_, tree_.root()), "") {}

  void load(vllm::ModelFactory factory, const Release& release, Startup& startup) {
    if (settings_.parallel.first_stage())
      vllm::make_vision_tower(place_ / "visual", vllm::tower_of(settings_));
    model_ = factory(place_);
    startup.offloaded_bytes = runtime_.offloaded;
    if (settings_.cpu_offload > 0 && runtime_.offloaded == 0)
      ghost::session().fail({ErrorKind::unsupported, "host memory is not modelled for this model",
                             "--cpu-offload-gb", "leave it out"});
    for (const auto& quantize : runtime_.while_loading) quantize();
    loaded_experts_ = referred_experts(runtime_.config, release, tree_.root());
    for (const auto& process : runtime_.after_loading) process();
    for (const auto& process : runtime_.after_attention) process();
    startup.loaded_expert_bytes = left_beside(loaded_experts_, tree_.root());
    if (release.has(changes::kSglangExtendsRopes)) reserve_ropes();
    ghost::session().tape.empty_cache();
    const vllm::StorageBytes storages = vllm::storages_of(tree_.root());
    startup.weights_bytes = storages.all;
    startup.parameter_bytes = storages.parameters;
    startup.kv_layers = runtime_.kv_layers;
    runtime_.has_metadata = true;
  }

  /// maybe_init_lora_manager, behind load_model.
  void make_room_for_adapters(const ServerArgs& args) {
    if (args.lora) lora_pool_ = make_lora_pool(runtime_.lora_sites, *args.lora, settings_.dtype);
  }

  /// A chunk of several prompts' tokens; logits of the last token of one.
  void prefill() { run(settings_.max_num_batched_tokens, 1); }

  /// The largest decoding batch, in the pool that all graphs share, with the kernels that it holds.
  void capture(std::int64_t batch, Startup& startup) {
    constexpr StreamId kPool = 2;
    const StreamId own = ghost::session().stream;
    const std::size_t from = ghost::session().tape.events.size();
    ghost::session().stream = kPool;
    run(batch, batch);
    ghost::session().stream = own;
    // SGLang's norms are kernels of their own.
    startup.graph_kernels = vllm::captured_kernels(ghost::session().tape, from, true);
    startup.graph_sums = vllm::captured_sums(ghost::session().tape, from);
  }

 private:
  /// reserve_rope_cache_for_long_sequences (srt/utils/common.py): tables reach beyond the context.
  void reserve_ropes() {
    constexpr std::int64_t kMargin = 256, kAlign = 128;  // SGLANG_ROPE_CACHE_*
    ghost::session().tape.empty_cache();
    const std::int64_t positions = vllm::round_up(settings_.max_model_len + kMargin, kAlign);
    for (const auto& [key, rope] : runtime_.ropes) rope->extend(positions);
  }

  /// The weights of a layer that lie in host memory are on the GPU while it runs.
  Tensor forward(const Tensor& input_ids, const vllm::Stream& input) {
    const Tensor layer = vllm::scratch("to", runtime_.most_offloaded);
    return model_->forward(input_ids, input);
  }

  void run(std::int64_t tokens, std::int64_t rows) {
    const Tensor input_ids = kernel_output("input_ids", {tokens}, DType::int64);
    vllm::Stream input;
    if (!settings_.parallel.first_stage()) {
      const ghost::Dims sizes{tokens, model_->hidden_size()};
      input.hidden = kernel_output("recv", sizes, settings_.dtype);
      if (model_->intermediate_tensors() > 1)
        input.residual = kernel_output("recv", sizes, settings_.dtype);
    }
    const Tensor hidden = forward(input_ids, input);
    if (!settings_.parallel.last_stage()) return;
    Tensor last = hidden;
    if (rows < tokens) last = kernel_output("index", {rows, hidden.size(1)}, hidden.dtype());
    // LogitsProcessor: logits in float32 for the sampler.
    const Tensor logits = model_->compute_logits(last);
    const Tensor wide = kernel_output("to", logits.sizes(), DType::float32);
  }

  const vllm::Settings& settings_;
  vllm::Runtime runtime_;
  nn::ModuleTree tree_;
  vllm::Place place_;
  std::unique_ptr<vllm::ServedModel> model_;
  std::vector<Tensor> loaded_experts_, lora_pool_;
};

/// GroupCoordinator (srt/distributed/parallel_state.py): each group of ranks, of one rank too, has
/// a number on the device: the world's, and those of tensor, pipeline and expert parallelism.
std::vector<Tensor> group_barriers() {
  constexpr int kGroups = 4;
  std::vector<Tensor> barriers;
  for (int i = 0; i < kGroups; ++i) barriers.push_back(kernel_output("zeros", {1}, DType::int32));
  return barriers;
}

Bytes peak_of(const Timeline& timeline) {
  Bytes peak = 0;
  for (const Window& window : timeline.windows) peak = std::max(peak, window.peak.allocated);
  return peak;
}

void play_stages(const Tape& tape, const Stages& stages, const vllm::Settings& settings,
                 Startup& startup) {
  const vllm::DeviceFacts& device = settings.device;
  const std::unique_ptr<Driver> driver =
      make_driver(device.placement, {.total = kUnlimited, .outside = device.context});
  CachingAllocator allocator(*driver);
  allocator.set_config(device.allocator);
  Played played;
  const auto until = [&](std::size_t from, std::size_t to) {
    return play(tape, allocator, played, {.from = from, .to = to});
  };
  startup.reserved_before = until(0, stages.begun).final_levels.reserved;
  startup.loading = vllm::play_loading(tape, {.from = stages.begun, .to = stages.loaded}, settings,
                                       device.allocator);
  startup.loaded = until(stages.begun, stages.loaded).final_levels;
  const Bytes peak = peak_of(until(stages.loaded, stages.prefilled));
  startup.activation_peak = std::max<Bytes>(0, peak - startup.loaded.allocated);
  const Bytes before = until(stages.prefilled, stages.settled).final_levels.reserved;
  if (stages.captured > stages.settled)
    startup.graph_pool = until(stages.settled, stages.captured).final_levels.reserved - before;
}

}  // namespace

Result<Startup> run_startup(const Config& config, const ServerArgs& args,
                            const vllm::Settings& model, const vllm::Quantization* quantization) {
  if (vllm::encodes_text(config))
    return unsupported("encoders of text are not modelled for SGLang", config.where(),
                       "--engine vllm");
  const Result<vllm::ModelFactory> factory = vllm::model_factory(config);
  if (!factory) return tl::unexpected(factory.error());
  Startup startup;
  Stages stages;
  ghost::Session session(model.device.traits);
  const ghost::GradMode inference(false);
  const auto at = [&] { return session.tape.events.size(); };
  {
    const std::vector<Tensor> barriers = group_barriers();
    stages.begun = at();
    std::vector<Tensor> locations;
    if (args.release.has(changes::kSglangLocatesExperts)) locations = locate_experts(config);
    Worker worker(config, model, quantization);
    worker.load(*factory, args.release, startup);
    worker.make_room_for_adapters(args);
    stages.loaded = at();
    worker.prefill();
    stages.prefilled = at();
    session.tape.empty_cache();
    stages.settled = stages.captured = at();
    if (args.cuda_graphs) {
      worker.capture(args.graph_max_batch, startup);
      stages.captured = at();
    }
    session.finished = true;
  }
  if (session.error) return tl::unexpected(*session.error);
  if (const Result<void> read = config.check(); !read) return tl::unexpected(read.error());
  play_stages(session.tape, stages, model, startup);
  return startup;
}

}  // namespace memtape::sglang
