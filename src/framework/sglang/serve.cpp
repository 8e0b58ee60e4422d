// SPDX-License-Identifier: Apache-2.0
#include "framework/sglang/serve.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "framework/sglang/attention_state.h"
#include "framework/sglang/memory_pool.h"
#include "framework/vllm/captured_collectives.h"
#include "framework/vllm/encoders.h"
#include "framework/vllm/graph_memory.h"
#include "framework/vllm/load_levers.h"
#include "framework/vllm/models/encoder_run.h"
#include "framework/vllm/resolve.h"
#include "framework/vllm/unified_doubt.h"
#include "mesh/nccl.h"
#include "model/type_of.h"

namespace memtape::sglang {
namespace {

using vllm::KvKind;

/// One stage's rank: what it loads, and the pools beside it.
struct RankRun {
  vllm::Settings settings;
  Startup startup;
  PoolPlan pools;
  AttentionState attention;
  vllm::Executables executables;              ///< those of the graphs for decoding
  Bytes available_before = 0, available = 0;  ///< free before and after loading

  Bytes graphs() const { return startup.graph_pool + attention.captured + executables.usual; }
  /// For activations, graphs and all that comes later.
  Bytes left() const { return available - pools.bytes() - attention.workspace; }
};

Result<std::vector<RankRun>> run_stages(const Config& config, const ServerArgs& args) {
  auto quantization = vllm::read_quantization(config, args.model);
  if (!quantization) return tl::unexpected(quantization.error());
  std::vector<RankRun> runs;
  std::int64_t fewest = kUnlimited;
  for (int stage = 0; stage < args.model.parallel.pp; ++stage) {
    RankRun run;
    run.settings = args.model;
    run.settings.parallel.pp_rank = stage;
    Result<Startup> startup = run_startup(config, args, run.settings, quantization->get());
    if (!startup) return tl::unexpected(startup.error());
    run.startup = *std::move(startup);
    run.executables =
        vllm::executables_of(args.decode_graphs * run.startup.graph_kernels, false,
                             run.settings.device) +
        vllm::sums_of_nccl(args.decode_graphs * run.startup.graph_sums, false, run.settings);
    const Bytes given = run.settings.device.total - run.settings.device.context;
    run.available_before = given - run.startup.reserved_before;
    run.available = given - run.startup.loaded.reserved;
    run.pools = plan_pools(cell_sizes(run.startup.kv_layers, args), args, run.available_before,
                           run.available);
    fewest = std::min(fewest, run.pools.tokens);
    runs.push_back(std::move(run));
  }
  for (RankRun& run : runs) {
    run.pools = with_tokens(std::move(run.pools), fewest, args);
    run.attention = attention_state(args, run.startup.kv_layers);
  }
  return runs;
}

KvGroup group_of(const RankRun& run, const std::vector<vllm::KvLayer>& layers,
                 const ServerArgs& args) {
  const vllm::KvLayer& first = layers.front();
  const bool grows = first.kind != KvKind::mamba;
  const bool slides = first.kind == KvKind::sliding_window || first.kind == KvKind::chunked_local;
  KvGroup group;
  group.kind = name(first.kind);
  group.layers = static_cast<std::int64_t>(layers.size());
  Bytes each = 0;
  for (const vllm::KvLayer& layer : layers)
    each += grows ? layer.bytes_per_token() : layer.state_bytes;
  const std::int64_t tokens = slides && args.hybrid_swa ? run.pools.swa_tokens : run.pools.tokens;
  if (grows) {
    group.tokens = tokens;
    group.bytes_per_token = each;
  }
  group.bytes = grows ? (tokens > 0 ? (tokens + args.page_size) * each : 0)
                      : (run.pools.state_slots + 1) * each;
  group.key_type = group.value_type = std::string(name(first.dtype));
  if (first.kind == KvKind::mla) group.value_type.clear();
  return group;
}

KvCache kv_report(const RankRun& run, const ServerArgs& args,
                  std::optional<std::int64_t> user_tokens) {
  KvCache cache;
  cache.block_size = args.page_size;
  cache.tokens = run.pools.tokens;
  cache.num_blocks = run.pools.tokens / args.page_size;
  cache.bytes = run.pools.kv_bytes + run.pools.state_bytes;
  if (run.pools.tokens > 0) {
    if (user_tokens)
      cache.users =
          std::min(static_cast<double>(run.pools.tokens) / static_cast<double>(*user_tokens),
                   static_cast<double>(run.pools.max_running_requests));
    const double by_tokens =
        static_cast<double>(run.pools.tokens) / static_cast<double>(args.context_length);
    cache.max_concurrency =
        std::min(by_tokens, static_cast<double>(run.pools.max_running_requests));
  }
  std::vector<std::vector<vllm::KvLayer>> kinds;
  for (const vllm::KvLayer& layer : run.startup.kv_layers) {
    const auto at =
        std::ranges::find_if(kinds, [&](const auto& k) { return k.front().kind == layer.kind; });
    at == kinds.end() ? kinds.push_back({layer}) : at->push_back(layer);
  }
  for (const auto& layers : kinds) cache.layers.push_back(group_of(run, layers, args));
  if (run.pools.cells.sliding == 0 && run.pools.cells.state == 0)
    cache.bytes_per_token = run.pools.cells.full;
  return cache;
}

ServeRank rank_report(const RankRun& run, const ServerArgs& args, int stage,
                      std::optional<std::int64_t> user_tokens) {
  ServeRank rank;
  rank.ranks.clear();
  const vllm::Parallel& p = run.settings.parallel;
  for (int replica = 0; replica < args.replicas; ++replica)
    for (int i = 0; i < p.tp; ++i) rank.ranks.push_back((replica * p.pp + stage) * p.tp + i);
  rank.stage = stage;
  const Startup& s = run.startup;
  const bool starts = run.pools.tokens > 0;
  const Bytes activations = starts ? s.activation_peak : 0, graphs = starts ? run.graphs() : 0;
  const Bytes workspace = starts ? run.attention.workspace : 0;
  rank.weights_bytes = s.weights_bytes;
  rank.activation_peak_bytes = s.activation_peak;
  rank.non_torch_bytes = run.settings.device.context;
  rank.cuda_graph_bytes = run.graphs();
  rank.kv_cache = kv_report(run, args, user_tokens);
  rank.peak_device_bytes = rank.non_torch_bytes + s.loaded.reserved + run.pools.bytes() +
                           workspace + activations + graphs;
  const auto at = [&](Category category) -> Bytes& { return rank.at_peak[category]; };
  at(Category::parameter) = s.parameter_bytes;
  at(Category::buffer) = s.weights_bytes - s.parameter_bytes;
  at(Category::kv_cache) = run.pools.kv_bytes + run.pools.state_bytes;
  at(Category::activation) = activations;
  at(Category::cuda_graph) = graphs;
  at(Category::workspace) = s.loaded.reserved - s.weights_bytes + run.pools.table_bytes +
                            run.pools.free_list_bytes + workspace;
  at(Category::context) = rank.non_torch_bytes;
  rank.phases = {{"weights", s.loaded}};
  rank.measured = {{"available_before_load_bytes", run.available_before},
                   {"available_after_load_bytes", run.available},
                   {"available_after_pools_bytes", run.left()},
                   {"req_to_token_bytes", run.pools.table_bytes},
                   {"max_running_requests", run.pools.max_running_requests}};
  if (run.pools.cells.sliding > 0)
    rank.measured.emplace_back("swa_max_total_num_tokens", run.pools.swa_tokens);
  if (run.pools.cells.state > 0)
    rank.measured.emplace_back("max_mamba_cache_size", run.pools.state_slots);
  return rank;
}

/// Why it does not start, or fails at its first full chunk.
std::string start_failure(const RankRun& run, const ServerArgs& args) {
  if (run.pools.rest <= 0 || run.pools.tokens <= 0) {
    const double least =
        1 - static_cast<double>(run.available) / static_cast<double>(run.available_before);
    if (run.available <= 0)
      return fmt::format("the weights take {} of {} that are free",
                         gib(run.startup.loaded.reserved), gib(run.available_before));
    return fmt::format(
        "the weights leave nothing of the share of {:.3f} for the caches: "
        "--mem-fraction-static must be above {:.3f}",
        args.mem_fraction_static, std::ceil(least * 1000) / 1000);
  }
  if (run.pools.cells.state > 0 && run.pools.max_running_requests == 0)
    return fmt::format("{} slots of recurrent states serve no request", run.pools.state_slots);
  // req_to_token_pool is made before the pools of keys and values.
  if (run.pools.table_bytes > run.available)
    return fmt::format(
        "the table of each request's tokens, {} of {}, takes {} of the {} that are free: a shorter "
        "--context-length or fewer --max-running-requests",
        with_commas(run.pools.max_running_requests), with_commas(args.context_length),
        gib(run.pools.table_bytes), gib(run.available));
  const Bytes needed = run.startup.activation_peak + run.graphs();
  if (needed > run.left())
    return fmt::format("a prefill chunk of {} tokens and the CUDA graphs take {}, {} are left",
                       args.chunked_prefill_size, gib(needed), gib(std::max<Bytes>(0, run.left())));
  return {};
}

/// What is not known exactly. NCCL's buffers are there before the pools are made: the pools are
/// smaller by them. Graphs come on top of the pools.
struct Uncertain {
  Bytes connections = 0, graphs = 0, less = 0;
  std::vector<std::string> causes;
};

void add_connections(const ServerArgs& args, Uncertain& found) {
  const auto connect = [&](const char* name, int ranks, Traffic traffic) {
    if (ranks < 2) return;
    const MemoryRange range = nccl_memory({name, ranks, traffic}, args.model.device.traits.major);
    found.connections += range.high;
    found.causes.push_back(
        fmt::format("NCCL for {} of {} ranks takes {} to {} of what are the "
                    "pools' here, and the custom all-reduce its buffers",
                    name, ranks, human_bytes(range.low), human_bytes(range.high)));
  };
  connect("tp", args.model.parallel.tp, Traffic::collective);
  connect("pp", args.model.parallel.pp, Traffic::neighbours);
}

void add_graphs(const RankRun& run, const ServerArgs& args, Uncertain& found) {
  const auto& [usual, range] = run.executables;
  if (usual > 0) {
    found.graphs += range.high - usual;
    found.less += usual - range.low;
    found.causes.push_back(fmt::format(
        "what the driver keeps for {} CUDA graphs is taken to be {} of their {}: between {} and {}",
        args.decode_graphs, human_bytes(usual), human_bytes(run.graphs()), human_bytes(range.low),
        human_bytes(range.high)));
  }
  if (const Bytes more = run.attention.captured_of_posts; more > 0) {
    found.graphs += more;
    found.causes.push_back(fmt::format(
        "0.4.6.post3 and .post4 make a table of {} more for graphs with local attention",
        human_bytes(more)));
  }
  if (args.prefill_graph_bytes == 0 || run.settings.device.given_outside) return;
  found.graphs += args.prefill_graph_bytes;
  found.causes.push_back(
      fmt::format("the CUDA graphs of prefill are not modelled: SGLang keeps {} back for them",
                  human_bytes(args.prefill_graph_bytes)));
}

Uncertain uncertain_of(const RankRun& run, const ServerArgs& args) {
  Uncertain found;
  add_connections(args, found);
  add_graphs(run, args, found);
  return found;
}

void add_bounds(ServeAnswer& answer, const std::vector<RankRun>& runs, const ServerArgs& args) {
  const auto fullest = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  Uncertain uncertain =
      uncertain_of(runs[static_cast<std::size_t>(fullest - answer.ranks.begin())], args);
  const Bytes peak = fullest->peak_device_bytes;
  answer.bounds =
      Bounds{peak - uncertain.less, peak + uncertain.graphs, std::move(uncertain.causes)};
}

/// Where what is uncertain may leave too little beside the pools.
std::string start_doubt(const RankRun& run, const ServerArgs& args) {
  const Uncertain uncertain = uncertain_of(run, args);
  const Bytes needed = run.startup.activation_peak + run.graphs();
  const Bytes most = uncertain.connections + uncertain.graphs;
  if (most == 0 || needed + most <= run.left()) return {};
  return fmt::format(
      "a prefill chunk of {} tokens and the CUDA graphs take {} of the {} beside the "
      "pools, and what is not known exactly up to {} more",
      args.chunked_prefill_size, gib(needed), gib(run.left()), gib(most));
}

/// Images are encoded, before their prompt, in what is left beside the pools and the graphs.
void judge_images(ServeAnswer& answer, const Config& config, const ServerArgs& args,
                  const RankRun& run) {
  const Bytes left = run.left() - run.startup.graph_pool - run.attention.captured;
  if (!args.model.encoders || left < 0) return;  // a server that does not start encodes nothing
  const vllm::Encoders& encoders = *args.model.encoders;
  if (!encoders.is_known) {
    answer.warnings.push_back(
        fmt::format("what this model's encoders hold while they read an image or a sound is not "
                    "modelled: {} are left for it beside the pools",
                    gib(left)));
    return;
  }
  const Bytes needed = vllm::bytes_of_largest_item(config, args.model, encoders);
  answer.warnings.push_back(
      fmt::format("the largest {} is taken to need {} while it is encoded, as in vLLM, of the {} "
                  "beside the pools",
                  encoders.modality, gib(needed), gib(left)));
  if (needed > left && answer.doubt.empty())
    answer.doubt = fmt::format(
        "the largest {} takes {} while it is encoded and {} are left beside the pools; a smaller "
        "--mem-fraction-static leaves more",
        encoders.modality, gib(needed), gib(left));
}

void add_settings(ServeAnswer& answer, const ServerArgs& args, const PoolPlan& pools) {
  const auto whole = [](std::int64_t value) { return fmt::format("{}", value); };
  const vllm::Settings& s = args.model;
  answer.workload = {
      {"version", fmt::format("\"{}\"", args.version)},
      {"dtype", fmt::format("\"{}\"", name(s.dtype))},
      {"kv_cache_dtype",
       fmt::format("\"{}\"", s.kv_dtype == vllm::KvDType::fp8 ? "fp8" : name(s.kv_torch_dtype()))},
      {"context_length", whole(args.context_length)},
      {"mem_fraction_static", fmt::format("{:.4g}", args.mem_fraction_static)},
      {"chunked_prefill_size", whole(args.chunked_prefill_size)},
      {"page_size", whole(args.page_size)},
      {"cuda_graph_max_bs", args.cuda_graphs ? whole(args.graph_max_batch) : "null"},
      {"max_running_requests", whole(pools.max_running_requests)},
      {"radix_cache", args.radix_cache ? "true" : "false"},
  };
  const int groups = s.parallel.attention_dp;
  answer.mesh = {{"tp_size", whole(s.parallel.tp)},
                 {"pp_size", whole(s.parallel.pp)},
                 {"dp_size", whole(groups > 1 ? groups : args.replicas)},
                 {"expert_parallel", s.parallel.expert_parallel ? "true" : "false"}};
  if (groups > 1) answer.mesh.emplace_back("enable_dp_attention", "true");
}

void note_offloaded(ServeAnswer& answer, const RankRun& run) {
  const Bytes offloaded = run.startup.offloaded_bytes;
  if (offloaded > 0)
    answer.notes.push_back(
        fmt::format("{} of weights lie in the host's memory and come to the GPU with every step, "
                    "layer by layer",
                    gib(offloaded)));
}

/// Once for all ranks, which hold the same.
void warn_of_loaded_experts(ServeAnswer& answer, const RankRun& run, const ServerArgs& args) {
  const Bytes kept = run.startup.loaded_expert_bytes;
  if (kept == 0) return;
  answer.warnings.push_back(
      fmt::format("SGLang {} keeps the experts as they were loaded, {}, beside what it makes of "
                  "them (routed_experts_weights_of_layer): {} lets them go",
                  args.version, gib(kept), changes::kSglangListsExpertsWhenAsked.since.text()));
}

void add_remarks(ServeAnswer& answer, const ServerArgs& args, const PoolPlan& pools) {
  if (pools.tokens > 0)
    answer.notes.push_back(
        fmt::format("max_total_num_tokens={}, max_running_requests={}, "
                    "context_len={}",
                    pools.tokens, pools.max_running_requests, args.context_length));
}

}  // namespace

Result<ServeAnswer> serve(const ServeRequest& request) {
  if (!request.config)
    return bad_input("SGLang needs a config", request.id, "a config.json or a hub id");
  const Result<Config> whole = vllm::with_overrides(request, "json-model-override-args");
  if (!whole) return tl::unexpected(whole.error());
  const Config config = vllm::text_config(*whole);
  ServeAnswer answer;
  Result<ServerArgs> args = resolve(request, *whole, answer.warnings);
  if (!args) return tl::unexpected(args.error());
  ServeOptions images;
  images.add("limit-mm-per-prompt", R"({"video": 0})");
  auto encoders = vllm::read_encoders(images, *whole, args->model);
  if (!encoders) return tl::unexpected(encoders.error());
  args->model.encoders = *std::move(encoders);
  const auto runs = run_stages(config, *args);
  if (!runs) return tl::unexpected(runs.error());
  for (std::size_t i = 0; i < runs->size(); ++i) {
    ServeRank rank = rank_report((*runs)[i], *args, static_cast<int>(i), request.user_tokens);
    vllm::add_loading(answer, rank, (*runs)[i].startup.loading);
    answer.ranks.push_back(std::move(rank));
    answer.model.weight_bytes +=
        (*runs)[i].startup.weights_bytes + (*runs)[i].startup.offloaded_bytes;
    if (answer.failure.empty()) answer.failure = start_failure((*runs)[i], *args);
  }
  answer.model.id = request.id;
  answer.model.family = type_of(config);
  if (request.header) answer.model.parameters = request.header->total_elements();
  vllm::add_load_levers(answer, args->model, [](const vllm::Settings&) { return std::nullopt; });
  add_settings(answer, *args, runs->front().pools);
  warn_of_loaded_experts(answer, runs->front(), *args);
  note_offloaded(answer, runs->front());
  add_remarks(answer, *args, runs->front().pools);
  add_bounds(answer, *runs, *args);
  for (const RankRun& run : *runs)
    if (answer.doubt.empty()) answer.doubt = start_doubt(run, *args);
  judge_images(answer, config, *args, runs->front());
  if (answer.doubt.empty())
    answer.doubt = vllm::unified_doubt(args->model.device, answer.ranks.front().peak_device_bytes);
  return answer;
}

}  // namespace memtape::sglang
