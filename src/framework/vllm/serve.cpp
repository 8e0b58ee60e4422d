// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/serve.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/vllm/encoder_verdict.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/graph_memory.h"
#include "framework/vllm/kernel_notes.h"
#include "framework/vllm/kv_cache.h"
#include "framework/vllm/load_levers.h"
#include "framework/vllm/outside_growth.h"
#include "framework/vllm/pooling.h"
#include "framework/vllm/resolve.h"
#include "framework/vllm/startup.h"
#include "framework/vllm/unified_doubt.h"
#include "mesh/nccl.h"
#include "model/type_of.h"
#include "release/vllm_models.h"

namespace memtape::vllm {
namespace {

/// One rank's start-up and what follows from it.
struct RankRun {
  Settings settings;
  Startup startup;
  StartupFigures figures;
  GraphMemory graphs;
  Bytes requested = 0, available = 0;

  /// What a step takes beside weights and cache.
  Bytes transient() const { return std::max(figures.headroom, figures.warm_up); }
  /// Segments without the cache. Older workers count what is allocated: parts of segments that
  /// loading left free hold activations, as they did in the profile run.
  Bytes reserved() const {
    const Bytes apart = figures.consumed + transient();
    return settings.counts_device() ? apart : std::min(apart, figures.peak_reserved);
  }
};

/// request_memory of v1/worker/utils.py; with older workers it was cut.
Bytes requested_memory(const Settings& s) {
  const double share = static_cast<double>(s.device.total) * s.gpu_memory_utilization;
  return static_cast<Bytes>(s.counts_device() ? std::ceil(share) : share);
}

/// "Model loading took": what is allocated more after it.
Bytes loaded_bytes(const RankRun& run) {
  return run.figures.weights.allocated - run.figures.runner.allocated;
}

/// determine_available_memory: recent workers count what the device has less of; older ones what
/// loading and the profile run allocated, and what grew outside the allocator; the first ones what
/// the allocator kept in place of what was allocated.
Bytes left_for_cache(const RankRun& run) {
  const StartupFigures& f = run.figures;
  const Bytes beside_graphs = run.requested - run.graphs.estimate;
  if (run.settings.counts_device()) return beside_graphs - f.consumed - f.headroom;
  const Bytes grown = outside_growth(run.settings);
  if (!run.settings.release.has(changes::kVllmCountsWhatIsAllocated))
    return beside_graphs - f.peak_reserved - grown;
  return beside_graphs - loaded_bytes(run) - f.torch_peak_increase - grown;
}

Result<RankRun> run_rank(const Config& config, const Settings& settings,
                         const Quantization* quantization) {
  RankRun run;
  run.settings = settings;
  Result<Startup> startup = run_startup(config, settings, quantization);
  if (!startup) return tl::unexpected(startup.error());
  run.startup = *std::move(startup);
  run.figures = play_startup(run.startup, settings);
  run.graphs = graph_memory(run.startup, run.figures, settings);
  run.requested = requested_memory(settings);
  run.available = settings.kv_cache_memory_bytes.value_or(left_for_cache(run));
  return run;
}

/// How many requests of `tokens` the blocks hold.
std::optional<double> users_of(const RankRun& run, const KvPlan& plan,
                               std::optional<std::int64_t> tokens) {
  if (!tokens) return std::nullopt;
  Settings s = run.settings;
  s.max_model_len = *tokens;
  const auto groups = kv_groups(run.startup.kv_layers, s);
  if (!groups) return std::nullopt;
  std::int64_t blocks = 0;
  for (const KvGroupPlan& group : *groups) blocks += group.blocks_per_request;
  if (blocks == 0) return std::nullopt;
  return static_cast<double>(plan.num_blocks) / static_cast<double>(blocks);
}

KvCache kv_report(const KvPlan& plan) {
  KvCache cache;
  cache.num_blocks = plan.num_blocks;
  cache.tokens = plan.tokens;
  cache.bytes = plan.bytes();
  if (plan.max_concurrency > 0) cache.max_concurrency = plan.max_concurrency;
  Bytes per_token = 0;
  std::int64_t needed = 0;  // blocks of a request of the full length
  bool is_single = true;
  for (const KvGroupPlan& group : plan.groups) needed += group.blocks_per_request;
  for (const KvGroupPlan& group : plan.groups) {
    cache.block_size = std::max(cache.block_size, group.spec.block_size);
    KvGroup row;
    row.kind = name(group.spec.kind);
    row.layers = static_cast<std::int64_t>(group.layers.size());
    const bool grows = group.spec.kind != KvKind::mamba;
    if (grows)
      for (const KvLayer& layer : group.layers) row.bytes_per_token += layer.bytes_per_token();
    // All groups draw on one pool of blocks: a group's part is what a request of the full length
    // takes of it.
    const std::int64_t blocks =
        needed > 0 ? plan.num_blocks * group.blocks_per_request / needed : plan.num_blocks;
    row.bytes = plan.bytes_per_block * blocks;
    if (grows) row.tokens = blocks * group.spec.block_size;
    row.key_type = row.value_type = std::string(name(group.spec.dtype));
    if (group.spec.kind == KvKind::mla) row.value_type.clear();
    is_single &= grows && group.spec.kind != KvKind::sliding_window;
    per_token += row.bytes_per_token;
    cache.layers.push_back(std::move(row));
  }
  if (is_single && !plan.groups.empty()) cache.bytes_per_token = per_token;
  return cache;
}

/// The cache is a tensor for each layer of a group, and those that fit lie where loading left parts
/// of segments free.
Bytes kept_in_holes(const RankRun& run, const KvPlan& plan) {
  std::size_t tensors = 0;
  for (const KvGroupPlan& group : plan.groups) tensors = std::max(tensors, group.layers.size());
  if (tensors == 0 || plan.bytes() <= 0) return 0;
  const Bytes each = plan.bytes() / static_cast<Bytes>(tensors);
  Bytes filled = 0;
  for (const Bytes hole : run.figures.holes) filled += hole / each;
  return each * std::min(filled, static_cast<Bytes>(tensors));
}

ServeRank rank_report(const RankRun& run, const KvPlan& plan, int stage) {
  ServeRank rank;
  rank.ranks.clear();
  const Parallel& p = run.settings.parallel;
  for (int i = 0; i < p.tp; ++i) rank.ranks.push_back(stage * p.tp + i);
  rank.stage = stage;
  rank.weights_bytes = run.startup.weights_bytes;
  rank.activation_peak_bytes = run.figures.torch_peak_increase;
  // Recent workers count what grows beside the allocator with the rest.
  const Bytes growth = run.settings.counts_device() ? 0 : outside_growth(run.settings);
  rank.non_torch_bytes = run.settings.device.context + growth;
  rank.kv_cache = kv_report(plan);
  const Bytes idle = run.figures.profiled.allocated;
  const Bytes backend = run.settings.attention_workspace;
  const Bytes added = plan.bytes() + run.graphs.pool + backend;
  const Bytes in_holes = kept_in_holes(run, plan);
  Levels peak;
  peak.allocated = peak.requested = idle + run.transient() + added;
  peak.reserved = run.reserved() + added - in_holes;
  rank.peak = peak;
  rank.cuda_graph_bytes = run.graphs.total();
  rank.peak_device_bytes = peak.reserved + run.graphs.executables.usual + rank.non_torch_bytes;
  const auto at = [&](Category category) -> Bytes& { return rank.at_peak[category]; };
  const Bytes repacked = run.startup.repacked_bytes;
  at(Category::parameter) = run.startup.parameter_bytes + repacked;
  at(Category::buffer) = run.startup.weights_bytes - run.startup.parameter_bytes;
  at(Category::kv_cache) = plan.bytes();
  at(Category::activation) = run.transient();
  at(Category::cuda_graph) = rank.cuda_graph_bytes;
  at(Category::workspace) =
      run.reserved() - run.transient() - run.startup.weights_bytes - repacked + backend - in_holes;
  at(Category::context) = rank.non_torch_bytes;
  rank.phases = {
      {"weights", run.figures.weights},
      {"profile",
       {run.figures.peak_allocated, run.figures.peak_allocated, run.figures.peak_reserved}}};
  rank.measured = {{"consumed_bytes", run.figures.consumed},
                   {"profile_headroom_bytes", run.figures.headroom},
                   {"cuda_graph_estimate_bytes", run.graphs.estimate},
                   {"model_memory_bytes", loaded_bytes(run)},
                   {"requested_memory_bytes", run.requested},
                   {"available_kv_cache_bytes", run.available}};
  if (growth > 0) rank.measured.emplace_back("non_torch_increase_bytes", growth);
  return rank;
}

void add_settings(ServeAnswer& answer, const Settings& s) {
  const auto whole = [](std::int64_t value) { return fmt::format("{}", value); };
  answer.workload = {
      {"usage_context", s.is_api_server ? "\"api-server\"" : "\"llm\""},
      {"dtype", fmt::format("\"{}\"", name(s.dtype))},
      {"max_model_len", whole(s.max_model_len)},
      {"max_num_seqs", whole(s.max_num_seqs)},
      {"max_num_batched_tokens", whole(s.max_num_batched_tokens)},
      {"gpu_memory_utilization", fmt::format("{}", s.gpu_memory_utilization)},
      {"enforce_eager", s.enforce_eager ? "true" : "false"},
      {"enable_prefix_caching", s.prefix_caching ? "true" : "false"},
  };
  if (s.pooling)  // what vLLM makes of the model, by its own flags
    answer.workload.insert(answer.workload.begin() + 1,
                           {{"runner", "\"pooling\""},
                            {"convert", s.pooling->labels > 0 ? "\"classify\"" : "\"embed\""}});
  answer.mesh = {{"tensor_parallel_size", whole(s.parallel.tp)},
                 {"pipeline_parallel_size", whole(s.parallel.pp)},
                 {"data_parallel_size", whole(s.parallel.dp)},
                 {"expert_parallel", s.parallel.expert_parallel ? "true" : "false"}};
}

/// _check_enough_kv_cache_memory, with the sentence that vLLM would end with.
std::string start_failure(const RankRun& run, const KvPlan& plan) {
  if (run.settings.device.total - run.settings.device.context < run.requested)
    return fmt::format("{} of the GPU are free, --gpu-memory-utilization asks for {}",
                       gib(run.settings.device.total - run.settings.device.context),
                       gib(run.requested));
  if (run.startup.kv_layers.empty()) return {};
  if (run.available <= 0)
    return fmt::format("no memory is left for the KV cache: weights and profile run take {} of {}",
                       gib(run.figures.consumed + run.figures.headroom), gib(run.requested));
  // get_kv_cache_configs plans with the blocks that were asked for.
  const bool overridden = run.settings.num_gpu_blocks_override.has_value();
  if (plan.needed > (overridden ? plan.bytes() : run.available))
    return fmt::format("one request of {} tokens needs {} of KV cache, {} are left",
                       run.settings.max_model_len, gib(plan.needed),
                       gib(overridden ? plan.bytes() : run.available));
  return {};
}

/// What is not known exactly: what the cache may have less than is told, and what may come on top of
/// the share of the GPU, or be less there. Connections of ranks are one or the other.
struct Uncertain {
  Bytes off_cache = 0, on_top = 0, less = 0, connections = 0;
  std::vector<std::string> causes;
};

void add_connections(const Settings& s, Uncertain& found) {
  const bool is_before = s.release.has(changes::kVllmConnectsBeforeItsSnapshot);
  const auto connect = [&](const char* name, int ranks, Traffic traffic) {
    if (ranks < 2 || !is_before) return;  // older workers' growth has been measured
    const MemoryRange range = nccl_memory({name, ranks, traffic}, s.device.traits.major);
    found.connections += range.high;
    found.causes.push_back(
        fmt::format("NCCL for {} of {} ranks takes {} to {}, on top of the share of the GPU or of "
                    "what is the KV cache's here",
                    name, ranks, human_bytes(range.low), human_bytes(range.high)));
  };
  connect("tp", s.parallel.tp, Traffic::collective);
  connect("pp", s.parallel.pp, Traffic::neighbours);
  if (s.parallel.expert_parallel) connect("ep", s.parallel.tp * s.parallel.dp, Traffic::all_to_all);
}

/// Releases that take an estimate of the graphs off the cache take what the driver keeps with it.
void add_graphs(const RankRun& run, Uncertain& found) {
  const GraphMemory& graphs = run.graphs;
  const auto& [usual, range] = graphs.executables;
  if (usual == 0) return;
  const Bytes more = range.high - usual;
  const bool is_estimated = run.settings.estimate_cuda_graphs;
  (is_estimated ? found.off_cache : found.on_top) += more;
  if (!is_estimated) found.less += usual - range.low;
  found.causes.push_back(fmt::format(
      "what the driver keeps for {} CUDA graphs is taken to be {} of their {}: between {} and {}",
      run.startup.graphs.pieces + run.startup.graphs.whole, human_bytes(usual),
      human_bytes(graphs.total()), human_bytes(range.low), human_bytes(range.high)));
  if (!run.settings.speculation.reads_target()) return;
  found.on_top += graphs.total();
  found.causes.push_back(
      fmt::format("the CUDA graphs of the drafter are not modelled: at most those of the model, {}",
                  human_bytes(graphs.total())));
}

/// Which blocks loading and the profile run leave in segments, and what else those hold, is played
/// with the layers of the release that is transcribed; an older one may leave nothing.
void add_segments_left(const RankRun& run, Uncertain& found) {
  const Version meant = run.settings.release.of(Package::vllm);
  if (meant >= *Version::parse(kVersion)) return;
  const Bytes left = run.figures.consumed - run.figures.profiled.allocated;
  if (left <= 0) return;
  found.less += left;
  found.causes.push_back(
      fmt::format("what loading leaves in segments that are in part in use is that of {}'s layers, "
                  "{}: {} may leave less",
                  kVersion, human_bytes(left), meant.text()));
}

Uncertain uncertain_of(const RankRun& run) {
  // redundancy_buffer_memory of v1/worker/gpu_worker.py: how much more a worker of the V1 engine
  // takes than its profile says, as vLLM's authors have observed.
  constexpr Bytes kObserved = 150_MiB;
  Uncertain found;
  add_connections(run.settings, found);
  add_graphs(run, found);
  add_segments_left(run, found);
  if (run.settings.runner != Runner::v0) {
    found.on_top += kObserved;
    found.causes.push_back(
        fmt::format("kernels that load after the profile run take up to {}, vLLM's own allowance",
                    human_bytes(kObserved)));
  }
  const auto& encoders = run.settings.encoders;
  if (encoders && encoders->profiles && encoders->items > 0 && !run.settings.counts_device()) {
    found.off_cache += kObserved;
    found.causes.push_back(fmt::format(
        "what the encoder's kernels load and ask for (cuDNN's convolution, attention) has "
        "not been measured: up to {} of the KV cache",
        human_bytes(kObserved)));
  }
  if (const Bytes compiled = run.startup.compile_bytes; compiled > 0) {
    found.off_cache += compiled;
    found.causes.push_back(
        fmt::format("what Inductor allocates while it compiles is taken to be {}, as one recorded "
                    "start-up shows: between nothing and twice that",
                    human_bytes(compiled)));
  }
  return found;
}

/// A cache whose size was asked for is allocated whatever the GPU has. What is not known exactly may
/// be less.
std::string overflow(const RankRun& run, const KvPlan& plan, const ServeRank& rank) {
  const Settings& s = run.settings;
  if (rank.peak_device_bytes - uncertain_of(run).less <= s.device.total) return {};
  if (run.startup.kv_layers.empty())
    return fmt::format("weights, the profile run and graphs take {} of {}",
                       gib(rank.peak_device_bytes), gib(s.device.total));
  const std::string_view flag = s.num_gpu_blocks_override ? "--num-gpu-blocks-override"
                                : s.kv_cache_memory_bytes ? "--kv-cache-memory-bytes"
                                                          : "--gpu-memory-utilization";
  return fmt::format(
      "the KV cache of {} that {} asks for and {} of all else are more than the {} "
      "of the GPU",
      gib(plan.bytes()), flag, gib(rank.peak_device_bytes - plan.bytes()), gib(s.device.total));
}

/// Where the least that may be left of the cache holds no request any more.
std::string start_doubt(const RankRun& run, const KvPlan& plan) {
  const Settings& s = run.settings;
  if (s.kv_cache_memory_bytes || s.num_gpu_blocks_override || plan.needed == 0) return {};
  const Uncertain uncertain = uncertain_of(run);
  const Bytes most = uncertain.off_cache + (s.counts_device() ? uncertain.connections : 0);
  if (run.available - most >= plan.needed) return {};
  return fmt::format(
      "one request of {} tokens needs {} of KV cache, {} are left, and up to {} of "
      "them may go to what is not known exactly",
      s.max_model_len, gib(plan.needed), gib(run.available), gib(most));
}

/// Who asks for less than half of a GPU shares it, and a worker that counts others' memory as its own
/// (kVllmLeavesOthersOut) then has less.
std::string sharing_doubt(const RankRun& run, const KvPlan& plan) {
  constexpr double kHalf = 0.5;
  const Settings& s = run.settings;
  if (s.runner != Runner::v1 || s.release.has(changes::kVllmLeavesOthersOut)) return {};
  if (s.gpu_memory_utilization >= kHalf || s.kv_cache_memory_bytes || plan.needed == 0) return {};
  return fmt::format(
      "before 0.9.1 vLLM counts what other programs hold on the GPU as its own: alone it starts, "
      "with more than {} of theirs it does not",
      gib(std::max<Bytes>(0, run.available - plan.needed)));
}

/// What comes off the cache leaves the device's peak where the budget is, unless the cache's size
/// was asked for.
Bounds bounds_of(const RankRun& run, const ServeRank& rank) {
  const Settings& s = run.settings;
  Uncertain uncertain = uncertain_of(run);
  const Bytes more = uncertain.on_top + uncertain.connections;
  Bounds bounds{rank.peak_device_bytes - uncertain.less, rank.peak_device_bytes + more,
                std::move(uncertain.causes)};
  if (s.kv_cache_memory_bytes || s.num_gpu_blocks_override || run.startup.kv_layers.empty())
    bounds.high_bytes += uncertain.off_cache;
  return bounds;
}

void judge(ServeAnswer& answer, const std::vector<RankRun>& runs,
           const std::vector<KvPlan>& plans) {
  for (std::size_t i = 0; i < runs.size() && answer.failure.empty(); ++i)
    answer.failure = start_failure(runs[i], plans[i]);
  for (std::size_t i = 0; i < runs.size() && answer.failure.empty(); ++i)
    answer.failure = overflow(runs[i], plans[i], answer.ranks[i]);
  for (std::size_t i = 0; i < runs.size() && answer.doubt.empty(); ++i)
    answer.doubt = start_doubt(runs[i], plans[i]);
  if (answer.doubt.empty()) answer.doubt = sharing_doubt(runs.front(), plans.front());
  if (answer.doubt.empty())
    answer.doubt =
        unified_doubt(runs.front().settings.device, answer.ranks.front().peak_device_bytes);
}

/// A release before the model's class refuses it or runs transformers' in its place, which is not
/// modelled.
void doubt_missing_class(ServeAnswer& answer, const Config& whole, const Settings& s) {
  for (const std::string& name : whole.texts("architectures"))
    if (const auto since = first_vllm_release_after(s.release, name); since && answer.doubt.empty())
      answer.doubt = fmt::format(
          "vLLM {} has no class {}, which came with {}: it refuses the model, or runs "
          "transformers' own, which is not modelled; --engine-version {} is what can be answered",
          s.release.of(Package::vllm).text(), name, since->text(), since->text());
}

void add_notes(ServeAnswer& answer, const KvPlan& plan, const RankRun& run) {
  const Settings& s = run.settings;
  if (run.startup.offloaded_bytes > 0)
    answer.notes.push_back(
        fmt::format("Total CPU offloaded parameters: {} of each rank, which every step reads from "
                    "pinned host memory",
                    gib(run.startup.offloaded_bytes)));
  if (plan.max_concurrency <= 0) return;
  answer.notes.push_back(
      fmt::format("GPU KV cache size: {} tokens, maximum concurrency for {} "
                  "tokens per request: {:.2f}x",
                  with_commas(plan.tokens), with_commas(s.max_model_len), plan.max_concurrency));
}

/// CuMemAllocator.sleep: the pools of weights and of the cache are unmapped, and what PyTorch holds
/// in its cache goes back. Level 1 keeps the weights in host memory, level 2 nowhere.
void note_sleep(ServeAnswer& answer, const ServeRank& rank) {
  Bytes kept = 0;
  for (const Category left :
       {Category::context, Category::workspace, Category::cuda_graph, Category::communication})
    kept += rank.at_peak[left];
  answer.notes.push_back(
      fmt::format("asleep, {} stay on the GPU (level 1 keeps {} of weights in host memory, level 2 "
                  "drops them); awake it holds what it holds without --enable-sleep-mode",
                  gib(kept), gib(rank.weights_bytes)));
}

/// One run a pipeline stage: ranks of one stage hold the same.
Result<std::vector<RankRun>> run_stages(const Config& config, const Settings& settings,
                                        const Quantization* quantization) {
  std::vector<RankRun> runs;
  for (int stage = 0; stage < settings.parallel.pp; ++stage) {
    Settings s = settings;
    s.parallel.pp_rank = stage;
    Result<RankRun> run = run_rank(config, s, quantization);
    if (!run) return tl::unexpected(run.error());
    runs.push_back(*std::move(run));
  }
  return runs;
}

std::optional<Loading> fullest_loading(const Config& config, const Settings& settings,
                                       const Quantization* quantization) {
  const auto runs = run_stages(config, settings, quantization);
  if (!runs) return std::nullopt;
  return std::ranges::max_element(
             *runs, {}, [](const RankRun& run) { return run.figures.loading.device_bytes; })
      ->figures.loading;
}

/// What a request of `length` tokens needs of the run's cache.
Result<Bytes> needed_for(const RankRun& run, std::int64_t length) {
  Settings s = run.settings;
  s.max_model_len = length;
  Result<std::vector<KvGroupPlan>> groups = kv_groups(run.startup.kv_layers, s);
  if (!groups) return tl::unexpected(groups.error());
  return plan_kv_cache(*std::move(groups), run.available, s).needed;
}

/// _auto_fit_max_model_len: the longest request that every rank's cache holds, by bisection.
Result<void> fit_length(std::vector<RankRun>& runs) {
  if (!runs.front().settings.fits_length) return {};
  std::int64_t least = 0, most = runs.front().settings.max_model_len;
  while (least < most) {
    const std::int64_t length = most - (most - least) / 2;
    bool fits = true;
    for (const RankRun& run : runs) {
      const Result<Bytes> needed = needed_for(run, length);
      if (!needed) return tl::unexpected(needed.error());
      fits = fits && *needed <= run.available;
    }
    if (fits)
      least = length;
    else
      most = length - 1;
  }
  for (RankRun& run : runs)
    if (least > 0) run.settings.max_model_len = least;
  return {};
}

/// get_kv_cache_configs: every rank has as many blocks as the one that has fewest.
Result<std::vector<KvPlan>> plan_stages(const std::vector<RankRun>& runs) {
  std::vector<KvPlan> plans;
  for (const RankRun& run : runs) {
    Result<std::vector<KvGroupPlan>> groups = kv_groups(run.startup.kv_layers, run.settings);
    if (!groups) return tl::unexpected(groups.error());
    plans.push_back(plan_kv_cache(*std::move(groups), run.available, run.settings));
  }
  std::int64_t least = plans.front().num_blocks;
  for (const KvPlan& plan : plans) least = std::min(least, plan.num_blocks);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    Settings s = runs[i].settings;
    s.num_gpu_blocks_override = least;
    plans[i] = plan_kv_cache(std::move(plans[i].groups), runs[i].available, s);
  }
  return plans;
}

}  // namespace

Result<ServeAnswer> serve(const ServeRequest& request) {
  if (!request.config)
    return unsupported(request.gguf ? "vLLM 0.32 reads no GGUF" : "vLLM needs a config.json",
                       request.id, "a config.json or a hub id");
  const Result<Config> whole = with_overrides(request, "hf-overrides");
  if (!whole) return tl::unexpected(whole.error());
  const Result<bool> is_text = serves_text_alone(request, *whole);
  if (!is_text) return tl::unexpected(is_text.error());
  const Config named = text_config(*is_text ? without_encoders(*whole) : *whole);
  const Config config = as_decoder(named);
  ServeAnswer answer;
  Result<Settings> settings = resolve(request, named, config, answer.warnings);
  if (!settings) return tl::unexpected(settings.error());
  if (!*is_text) {
    auto encoders = read_encoders(request.options, *whole, *settings);
    if (!encoders) return tl::unexpected(encoders.error());
    settings->encoders = *std::move(encoders);
  }
  warn_of_kernels(config, *settings, answer.warnings);
  auto quantization = read_quantization(config, *settings);
  if (!quantization) return tl::unexpected(quantization.error());
  auto runs = run_stages(config, *settings, quantization->get());
  if (!runs) return tl::unexpected(runs.error());
  if (auto fitted = fit_length(*runs); !fitted) return tl::unexpected(fitted.error());
  const auto plans = plan_stages(*runs);
  if (!plans) return tl::unexpected(plans.error());
  for (std::size_t i = 0; i < runs->size(); ++i) {
    ServeRank rank = rank_report((*runs)[i], (*plans)[i], static_cast<int>(i));
    rank.kv_cache.users = users_of((*runs)[i], (*plans)[i], request.user_tokens);
    add_loading(answer, rank, (*runs)[i].figures.loading);
    answer.ranks.push_back(std::move(rank));
  }
  answer.model.id = request.id;
  answer.model.family = type_of(config);
  for (const RankRun& run : *runs)
    answer.model.weight_bytes += run.startup.weights_bytes + run.startup.offloaded_bytes;
  if (request.header) answer.model.parameters = request.header->total_elements();
  add_settings(answer, runs->front().settings);
  judge(answer, *runs, *plans);
  doubt_missing_class(answer, *whole, *settings);
  add_load_levers(answer, *settings, [&](const Settings& other) {
    return fullest_loading(config, other, quantization->get());
  });
  const auto fullest = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  answer.bounds =
      bounds_of((*runs)[static_cast<std::size_t>(fullest - answer.ranks.begin())], *fullest);
  judge_encoders(answer, *whole, *settings,
                 {.left = runs->front().available - plans->front().needed,
                  .profile = runs->front().figures.torch_peak_increase});
  add_notes(answer, plans->front(), runs->front());
  if (request.options.has("enable-sleep-mode")) note_sleep(answer, *fullest);
  return answer;
}

}  // namespace memtape::vllm
