// SPDX-License-Identifier: Apache-2.0
#include "answer/plan_serve.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/counted_gpu.h"
#include "answer/device_options.h"
#include "answer/gpu_prices.h"
#include "answer/plan_export.h"
#include "answer/serve_request.h"
#include "base/comma_list.h"
#include "base/text.h"
#include "model/catalog.h"
#include "plan/pareto.h"
#include "predict/serve.h"
#include "time/step_time.h"

namespace memtape::answer {
namespace {

struct Available {
  std::int64_t count = 1;
  Gpu gpu;
};

struct Load {
  std::int64_t users = 1, context = 1024, output = 256;
  double ttft = 1e30, tpot = 1e30;  ///< the most that is allowed, in seconds
};

/// "32k" or "32768".
Result<std::int64_t> tokens(const std::string& option, const std::string& text) {
  std::int64_t n = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, n);
  const bool thousands = at + 1 == end && (*at == 'k' || *at == 'K');
  if (error == std::errc() && (at == end || thousands) && n >= 1 && n < (1 << 28))
    return thousands ? n * 1024 : n;
  return bad_input(fmt::format("unusable value \"{}\"", text), "--" + option,
                   "a whole number of 1 or more, or 32k");
}

/// "2s", "50ms" or "0.05".
Result<double> seconds(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double x = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end != text.c_str() && x > 0 && (unit.empty() || unit == "s" || unit == "ms"))
    return unit == "ms" ? x / 1000.0 : x;
  return bad_input(fmt::format("unusable value \"{}\"", text), "--" + option, "2s or 50ms");
}

Result<Load> load_of(const RawOptions& options) {
  Load load;
  for (const auto& [name, into] :
       {std::pair{"users", &load.users}, {"context", &load.context}, {"output", &load.output}}) {
    const std::string* text = last_value(options.values, name);
    if (!text) continue;
    const auto n = tokens(name, *text);
    if (!n) return tl::unexpected(n.error());
    *into = *n;
  }
  for (const auto& [name, into] : {std::pair{"ttft", &load.ttft}, {"tpot", &load.tpot}}) {
    const std::string* text = last_value(options.values, name);
    if (!text) continue;
    const auto x = seconds(name, *text);
    if (!x) return tl::unexpected(x.error());
    *into = *x;
  }
  return load;
}

/// "8xh100-80gb,4xa100-80gb".
Result<std::vector<Available>> available(const RawOptions& options) {
  const std::string* text = last_value(options.values, "available");
  if (!text)
    return bad_input("needs the GPUs at hand", "plan serve", "--available 8xh100-80gb,4xl4");
  std::vector<Available> found;
  for (const std::string& word : split_at_commas(*text)) {
    const auto [name, count] = counted_name(word);
    Available one{.count = count.value_or(1), .gpu = {}};
    if (one.count < 1 || one.count > 4096)
      return bad_input(fmt::format("\"{}\" counts none", word), "--available", "1 to 4096");
    const Result<Gpu> gpu = find_gpu(name, "--available");
    if (!gpu) return tl::unexpected(gpu.error());
    one.gpu = *gpu;
    found.push_back(std::move(one));
  }
  if (found.empty()) return bad_input("names no GPU", "--available", "8xh100-80gb");
  return found;
}

/// The ranks of one instance. Each rank of attention has requests of its own; experts lie whole on
/// all ranks together.
struct ServerRanks {
  std::int64_t tensor = 1, data = 1;
  std::int64_t gpus() const { return tensor * data; }
  /// Of so many requests those of one rank of attention.
  std::int64_t share(std::int64_t requests) const { return (requests + data - 1) / data; }
};

std::vector<ServerRanks> ranks_on(std::int64_t gpus, bool has_experts) {
  std::vector<ServerRanks> found;
  for (std::int64_t data = 1; data <= (has_experts ? gpus : 1); data *= 2)
    for (std::int64_t tensor = 1; tensor * data <= gpus; tensor *= 2)
      found.push_back({tensor, data});
  return found;
}

/// A model that may be served: the one that was named, or one that is quantized already.
struct Checkpoint {
  std::string name;
  ServeRequest request;
  bool is_other = false;
  std::optional<Result<time::ModelShape>> shape = {};  ///< once a server of it is to be timed
};

/// The word of --allow-quantize for checkpoints that are quantized already.
constexpr std::string_view kCheckpoint = "checkpoint";

/// How the weights are rounded: "fp8", "awq"; or "".
std::string rounding_of(const Config& config, const std::string& asked) {
  if (!asked.empty() || config.is_null("quantization_config")) return asked;
  return config.object("quantization_config").text("quant_method", "");
}

/// In what the matrices are multiplied: in eight bits where the GPU can, by blocks where the
/// checkpoint says so. Other roundings are timed as 16 bits.
void take_rounding(time::ServeSetup& setup, const Config& config, const std::string& rounding,
                   const Gpu& gpu) {
  constexpr int kMultipliesEightBits = 89;
  if (rounding == "mxfp4") setup.expert_weights_only = true;
  if (!rounding.starts_with("fp8") || gpu.capability() < kMultipliesEightBits) return;
  const bool by_blocks = !config.is_null("quantization_config") &&
                         !config.object("quantization_config").is_null("weight_block_size");
  setup.weights = setup.experts = by_blocks ? time::Compute::mxfp8 : time::Compute::fp8;
}

/// The API server's own of vLLM (EngineArgs.get_batch_defaults), said, since LLM's are others.
const char* batched_tokens(const Gpu& gpu) {
  const bool is_large = gpu.total_bytes >= 70 * 1_GiB && !gpu.id.starts_with("a100");
  return is_large ? "8192" : "2048";
}

class ServePlans {
 public:
  ServePlans(const Outside& outside, std::vector<Checkpoint> checkpoints,
             std::vector<std::string> roundings, const Load& load, GpuPrices prices)
      : outside_(outside),
        checkpoints_(std::move(checkpoints)),
        roundings_(std::move(roundings)),
        load_(load),
        prices_(std::move(prices)) {}

  void try_all(const ServeEngine& engine, const Available& at) {
    const std::optional<double> price = prices_.of(at.gpu);
    for (Checkpoint& checkpoint : checkpoints_) {
      const bool spreads = !engine.planned->data_parallel.empty() && has_experts(checkpoint);
      for (const ServerRanks& ranks : ranks_on(at.count, spreads)) {
        try_one(engine, at, checkpoint, ranks, "", price);
        if (checkpoint.is_other) continue;
        for (const std::string& rounding : roundings_)
          try_one(engine, at, checkpoint, ranks, rounding, price);
      }
    }
  }

  Result<PlanAnswer> finish() && {
    if (answer_.plans.empty() && answer_.confirmed == 0)
      return bad_input(refused_.empty() ? "no server is possible" : refused_, "plan serve");
    std::ranges::stable_sort(answer_.plans, [](const PlanRow& a, const PlanRow& b) {
      if (a.cost_per_hour && b.cost_per_hour && *a.cost_per_hour != *b.cost_per_hour)
        return *a.cost_per_hour < *b.cost_per_hour;
      if (a.gpus != b.gpus) return a.gpus < b.gpus;
      return a.tokens_per_second > b.tokens_per_second;
    });
    answer_.warnings.push_back(
        fmt::format("Assumed: {} user{} at once, each with a prompt of {} tokens of its own and an "
                    "answer of {}.",
                    with_commas(load_.users), load_.users == 1 ? "" : "s",
                    with_commas(load_.context), with_commas(load_.output)));
    if (too_few_spread_ > 0)
      answer_.warnings.push_back(fmt::format(
          "{} layout{} with several ranks of attention hold{} too few, or do not start.",
          too_few_spread_, too_few_spread_ == 1 ? "" : "s", too_few_spread_ == 1 ? "s" : ""));
    say_quantized();
    answer_.question = "serve";
    answer_.objective = "cost";
    return std::move(answer_);
  }

 private:
  void say_quantized() {
    const std::vector<std::string_view> others =
        quantized_checkpoints(checkpoints_.front().request.id);
    if (checkpoints_.size() == 1 && !others.empty())
      answer_.warnings.push_back(fmt::format(
          "{} {} quantized already: --allow-quantize {} tries {}.", fmt::join(others, ", "),
          others.size() == 1 ? "is" : "are", kCheckpoint, others.size() == 1 ? "it" : "them"));
  }

  static const Result<time::ModelShape>& shape_of(Checkpoint& checkpoint) {
    if (!checkpoint.shape)
      checkpoint.shape = time::model_shape(text_part(*checkpoint.request.config));
    return *checkpoint.shape;
  }

  static bool has_experts(Checkpoint& checkpoint) {
    const Result<time::ModelShape>& shape = shape_of(checkpoint);
    return shape && std::ranges::any_of(shape->layers, [](const time::LayerShape& layer) {
             return layer.mlp.is_mixture();
           });
  }

  /// `sequences`: those of one rank of attention.
  ServeCommand command(const ServeEngine& engine, const Available& at, const Checkpoint& checkpoint,
                       const ServerRanks& ranks, const std::string& quantize,
                       std::int64_t sequences) const {
    ServeCommand asked;
    asked.model = checkpoint.name;
    asked.engine = engine.name;
    const PlannedServer& words = *engine.planned;
    const std::string length = fmt::format("{}", load_.context + load_.output);
    const std::int64_t groups = words.groups_ranks ? ranks.data : 1;
    asked.values = {{"gpu", std::string(at.gpu.id)},
                    {std::string(words.tensor_parallel), fmt::format("{}", ranks.tensor * groups)},
                    {std::string(words.length), length},
                    {std::string(words.sequences), fmt::format("{}", sequences * groups)},
                    {"users", fmt::format("{}", sequences)},
                    {"context", fmt::format("{}", load_.context)},
                    {"output", fmt::format("{}", load_.output)}};
    if (ranks.data > 1) {
      asked.values.emplace_back(words.data_parallel, fmt::format("{}", ranks.data));
      asked.values.emplace_back(words.expert_parallel, "on");
      if (!words.expert_ranks.empty())
        asked.values.emplace_back(words.expert_ranks, fmt::format("{}", ranks.gpus()));
    }
    if (!words.batched_tokens.empty())
      asked.values.emplace_back(words.batched_tokens, batched_tokens(at.gpu));
    if (!quantize.empty()) asked.values.emplace_back("quantization", quantize);
    return asked;
  }

  void try_one(const ServeEngine& engine, const Available& at, Checkpoint& checkpoint,
               const ServerRanks& ranks, const std::string& quantize, std::optional<double> price) {
    ++answer_.screened;
    ServeCommand asked = command(engine, at, checkpoint, ranks, quantize, ranks.share(load_.users));
    Result<ServeAnswer> served = answer_serve(asked, checkpoint.request, outside_);
    // As many instances as hold all users, each told how many come to it.
    const std::int64_t hold = served && served->users ? served->users->fit * ranks.data : 0;
    if (hold > 0 && hold < load_.users) {
      const std::int64_t copies = (load_.users + hold - 1) / hold;
      asked = command(engine, at, checkpoint, ranks, quantize,
                      ranks.share((load_.users + copies - 1) / copies));
      served = answer_serve(asked, checkpoint.request, outside_);
    }
    if (!served) {
      if (refused_.empty()) refused_ = served.error().line();
      return;
    }
    ++answer_.confirmed;
    if (!checkpoint.is_other) answer_.model = served->model;
    const std::int64_t each = served->users ? served->users->fit * ranks.data : 0;
    PlanRow row = row_of(asked, *served, engine, ranks);
    const std::int64_t replicas = each > 0 ? (load_.users + each - 1) / each : 0;
    if (!served->fits.value_or(false) || each == 0 || replicas * ranks.gpus() > at.count) {
      if (ranks.data > 1)
        ++too_few_spread_;
      else
        say_why_not(std::move(row), *served, each, at.count / ranks.gpus());
      ++answer_.bounded;
      return;
    }
    row.gpus = replicas * ranks.gpus();
    row.instances = replicas;
    row.users = each * replicas;
    if (price) row.cost_per_hour = *price * static_cast<double>(row.gpus);
    const std::string spread =
        ranks.data > 1 ? fmt::format(" · dp {} · ep {}", ranks.data, ranks.gpus()) : "";
    row.words =
        fmt::format("{} · tp {}{} · {} instance{}{}", at.gpu.id, ranks.tensor, spread, replicas,
                    replicas == 1 ? "" : "s", quantize.empty() ? "" : " · " + quantize);
    if (checkpoint.is_other) row.words += " · " + checkpoint.name;
    const std::string rounding = rounding_of(*checkpoint.request.config, quantize);
    if (checkpoint.is_other || !quantize.empty()) row.sacrifice = "weights rounded: " + rounding;
    if (!take_time(row, {engine, at, ranks, rounding, replicas}, checkpoint)) return;
    if (!rounding.empty() && !rounding.starts_with("fp8") && rounding != "mxfp4")
      say_once(fmt::format("Weights rounded by {} are timed as those of 16 bits.", rounding));
    answer_.plans.push_back(std::move(row));
  }

  static PlanRow row_of(const ServeCommand& asked, const ServeAnswer& served,
                        const ServeEngine& engine, const ServerRanks& ranks) {
    PlanRow row;
    row.framework = engine.name;
    row.model = asked.model;
    row.gpus = ranks.gpus();
    row.layout.emplace_back("engine", engine.name);
    for (const auto& option : asked.values)
      if (option.first != "users" && option.first != "context" && option.first != "output")
        row.layout.push_back(option);
    for (const ServeRank& rank : served.ranks)
      row.peak_device_bytes = std::max(row.peak_device_bytes.value_or(0), rank.peak_device_bytes);
    row.headroom_bytes = served.headroom_bytes;
    row.fits = served.fits;
    row.verdict = served.verdict;
    row.peak_rank = served.peak_rank;
    row.command = {"memtape", "serve", asked.model};
    for (const auto& [name, value] : row.layout) {
      row.command.push_back("--" + name);
      const bool is_switch = name == engine.planned->expert_parallel && !engine.truths_follow;
      if (!is_switch) row.command.push_back(value);
    }
    return row;
  }

  void say_once(std::string words) {
    if (std::ranges::find(answer_.warnings, words) == answer_.warnings.end())
      answer_.warnings.push_back(std::move(words));
  }

  void say_why_not(PlanRow row, const ServeAnswer& served, std::int64_t each, std::int64_t most) {
    const std::string why = served.fits.value_or(false)
                                ? fmt::format("{} users at a time on {} instance{}", each * most,
                                              most, most == 1 ? "" : "s")
                                : served.failure;
    const bool is_other = row.model != checkpoints_.front().name;
    std::string words = is_other ? row.model + " " : "";
    for (const auto& [name, value] : row.layout) words += fmt::format("--{} {} ", name, value);
    answer_.warnings.push_back(words + (why.empty() ? "does not start" : "holds too few: " + why));
  }

  struct Timed {
    const ServeEngine& engine;
    const Available& at;
    const ServerRanks& ranks;
    const std::string& rounding;
    std::int64_t replicas;
  };

  /// False where an estimate is beyond what is allowed.
  bool take_time(PlanRow& row, const Timed& server, Checkpoint& checkpoint) {
    const auto& [engine, at, ranks, rounding, replicas] = server;
    const auto machine = time::machine_of(at.gpu);
    if (!machine) return true;
    const Result<time::ModelShape>& shape = shape_of(checkpoint);
    if (!shape) return true;
    time::ServeSetup setup;
    const auto* const measured =
        std::ranges::find(time::kMeasuredEngines, engine.name, &time::MeasuredEngine::name);
    if (measured != time::kMeasuredEngines.end()) setup.engine = *measured;
    take_rounding(setup, *checkpoint.request.config, rounding, at.gpu);
    setup.tp = ranks.tensor;
    setup.dp = ranks.data;
    if (ranks.data > 1) setup.ep = ranks.gpus();
    setup.input_tokens = load_.context;
    setup.output_tokens = load_.output;
    setup.concurrency = (load_.users + replicas - 1) / replicas;
    const time::ServeTime t = time::StepClock(*shape, *machine).serve(setup);
    row.ttft = SecondsRange{t.ttft.low, t.ttft.mid, t.ttft.high};
    row.tpot = SecondsRange{t.tpot.low, t.tpot.mid, t.tpot.high};
    row.tokens_per_second = t.tokens_per_second * static_cast<double>(replicas);
    if (t.ttft.mid <= load_.ttft && t.tpot.mid <= load_.tpot) return true;
    ++answer_.bounded;
    answer_.warnings.push_back(fmt::format("{} is too slow: first token {:.3g} s, next {:.3g} s",
                                           row.words, t.ttft.mid, t.tpot.mid));
    return false;
  }

  const Outside& outside_;
  std::vector<Checkpoint> checkpoints_;  ///< the first is the one that was named
  const std::vector<std::string> roundings_;
  const Load load_;
  const GpuPrices prices_;
  std::string refused_;
  int too_few_spread_ = 0;  ///< with several ranks of attention
  PlanAnswer answer_;
};

std::vector<std::string> planned_engines() {
  std::vector<std::string> names;
  for (const ServeEngine& engine : serve_engines())
    if (engine.planned) names.emplace_back(engine.name);
  return names;
}

}  // namespace

Result<PlanAnswer> plan_serve(const RawOptions& options, const Outside& outside) {
  const auto exported = export_request(options.values);
  if (!exported) return tl::unexpected(exported.error());
  const auto load = load_of(options);
  if (!load) return tl::unexpected(load.error());
  const auto at_hand = available(options);
  if (!at_hand) return tl::unexpected(at_hand.error());
  const std::string* price = last_value(options.values, "price");
  const Result<GpuPrices> prices = GpuPrices::read(price ? *price : "");
  if (!prices) return tl::unexpected(prices.error());
  const Result<ModelSource> source = outside.model(options.model);
  if (!source) return tl::unexpected(source.error());
  if (!source->config)
    return unsupported("needs a config.json", source->where, "put it beside the checkpoint");
  std::vector<std::string> roundings;
  if (const std::string* allowed = last_value(options.values, "allow-quantize"))
    for (const std::string& word : split_at_commas(*allowed)) roundings.push_back(word);
  std::deque<ModelSource> others;
  const auto checkpoints = std::erase(roundings, kCheckpoint) > 0
                               ? quantized_checkpoints(source->id)
                               : std::vector<std::string_view>();
  std::vector<Checkpoint> models{{.name = options.model, .request = served(*source)}};
  for (const std::string_view id : checkpoints) {
    Result<ModelSource> other = outside.model(std::string(id));
    if (!other) return tl::unexpected(other.error());
    const ModelSource& kept = others.emplace_back(std::move(*other));
    models.push_back({.name = std::string(id), .request = served(kept), .is_other = true});
  }
  ServePlans plans(outside, std::move(models), std::move(roundings), *load, *prices);
  const std::string* engine = last_value(options.values, "engine");
  const std::vector<std::string> planned = planned_engines();
  std::vector<std::string> engines{planned.front()};
  if (engine) engines = *engine == "any" ? planned : split_at_commas(*engine);
  for (const std::string& one : engines) {
    if (std::ranges::find(planned, one) == planned.end())
      return bad_input(fmt::format("plans no server of \"{}\"", one), "--engine",
                       fmt::format("{} or any", fmt::join(planned, ", ")));
    const ServeEngine& planning = **find_serve_engine(one);
    for (const Available& at : *at_hand) plans.try_all(planning, at);
  }
  Result<PlanAnswer> answer = std::move(plans).finish();
  if (!answer) return answer;
  if (const auto added = add_server_exports(*exported, *answer); !added)
    return tl::unexpected(added.error());
  return answer;
}

}  // namespace memtape::answer
