// SPDX-License-Identifier: Apache-2.0
#include "time/question.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::time {
namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 20;

template <std::size_t N>
std::size_t choice(const Config& c, std::string_view key,
                   const std::array<std::string_view, N>& names, std::size_t otherwise) {
  const std::string word = c.text(key, names[otherwise]);
  const auto found = std::find(names.begin(), names.end(), word);
  if (found == names.end()) c.fail(key, fmt::format("is none of {}", fmt::join(names, ", ")));
  return found == names.end() ? otherwise : static_cast<std::size_t>(found - names.begin());
}

constexpr std::array<std::string_view, 7> kComputes = {"fp32", "tf32",  "bf16", "fp16",
                                                       "fp8",  "mxfp8", "nvfp4"};
constexpr std::array<std::string_view, 6> kSchedules = {"gpipe", "1f1b",        "zero-bubble",
                                                        "zbv",   "dual-pipe-v", "looped-bfs"};
constexpr std::array<std::string_view, 3> kOffloads = {"none", "optimizer", "all"};
constexpr auto kEngines = [] {
  std::array<std::string_view, kMeasuredEngines.size()> names;
  std::ranges::transform(kMeasuredEngines, names.begin(), &MeasuredEngine::name);
  return names;
}();

/// A reader of keys that remembers which there are.
class Keyed {
 public:
  explicit Keyed(const Config& config) : c_(config) {}

  void size(std::string_view key, std::int64_t& value, std::int64_t least = 1) {
    known_.push_back(key);
    value = c_.integer(key, value);
    if (value >= least && value <= kMost) return;
    c_.fail(key, fmt::format("must be from {} to {}, found {}", least, kMost, value));
    value = least;
  }
  void number(std::string_view key, double& value) {
    known_.push_back(key);
    value = c_.number(key, value);
    if (!(value >= 0) || value > 1e12) c_.fail(key, "must be a number of 0 or more");
  }
  void truth(std::string_view key, bool& value) {
    known_.push_back(key);
    value = c_.boolean(key, value);
  }
  void text(std::string_view key, std::string& value) {
    known_.push_back(key);
    value = c_.text(key, value);
  }
  template <class Enum, std::size_t N>
  void word(std::string_view key, Enum& value, const std::array<std::string_view, N>& names) {
    known_.push_back(key);
    value = static_cast<Enum>(choice(c_, key, names, static_cast<std::size_t>(value)));
  }
  void also(std::string_view key) { known_.push_back(key); }
  Result<void> check() const {
    for (const std::string& key : c_.keys())
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        c_.fail(key, fmt::format("is no key of a question; there are {}", fmt::join(known_, ", ")));
    return c_.check();
  }

 private:
  const Config& c_;
  std::vector<std::string_view> known_;
};

void read_recompute(const Config& c, Keyed& k, Recompute& r) {
  constexpr std::array<std::string_view, 3> kKinds = {"none", "full", "selective"};
  k.word("recompute", r.kind, kKinds);
  k.size("recompute_layers", r.layers, 0);
  k.truth("recompute_stops_early", r.stops_early);
  k.also("recompute_keeps");
  for (const std::string& product : c.texts("recompute_keeps"))
    if (!r.keep_product(product))
      c.fail("recompute_keeps", fmt::format("is none of qkv, out, mlp: {}", product));
  k.also("recompute_modules");
  for (const std::string& module : c.texts("recompute_modules")) {
    r.kind = Recompute::Kind::selective;
    if (!r.add_module(module))
      c.fail("recompute_modules", fmt::format("no module is called {}", module));
  }
}

void read_train(const Config& c, Keyed& k, TrainSetup& s) {
  k.size("gpus", s.gpus);
  k.size("tp", s.tp);
  k.size("pp", s.pp);
  k.size("vpp", s.vpp);
  k.size("cp", s.cp);
  k.size("ep", s.ep);
  k.size("etp", s.etp);
  k.size("micro_batch_size", s.micro_batch);
  k.size("global_batch_size", s.global_batch);
  k.size("sequence_length", s.sequence);
  k.size("zero", s.zero, 0);
  k.size("shard_ranks", s.shard_ranks, 0);
  k.truth("reshard_after_forward", s.reshard_after_forward);
  k.truth("sp", s.sequence_parallel);
  k.word("schedule", s.schedule, kSchedules);
  read_recompute(c, k, s.recompute);
  k.word("offload", s.offload, kOffloads);
  k.word("precision", s.compute, kComputes);
  k.number("parameter_bytes", s.parameter_bytes);
  k.number("gradient_bytes", s.gradient_bytes);
  k.number("optimizer_bytes", s.optimizer_bytes);
  k.size("lora_rank", s.lora_rank, 0);
  k.number("adapted", s.adapted);
  k.truth("quantized_base", s.quantized_base);
  k.truth("fused", s.fused);
  k.truth("flash_attention", s.flash_attention);
  bool is_second = s.flash_version == FlashAttention::second, is_first = false;
  k.truth("flash_attention_2", is_second);
  k.truth("flash_attention_1", is_first);
  s.flash_version = is_first    ? FlashAttention::first
                    : is_second ? FlashAttention::second
                                : FlashAttention::newest;
  k.truth("cuda_graphs", s.cuda_graphs);
  k.truth("overlap_grad_reduce", s.overlaps_gradients);
  k.truth("overlap_param_gather", s.overlaps_parameters);
  k.truth("tp_comm_overlap", s.overlaps_tensor);
  k.truth("overlap_experts", s.overlaps_experts);
  k.truth("deepep", s.fast_dispatch);
  k.number("host_seconds_per_op", s.host_seconds_per_op);
}

void read_serve(Keyed& k, ServeSetup& s) {
  std::size_t engine = 0;
  k.word("engine", engine, kEngines);
  s.engine = kMeasuredEngines[engine];
  k.size("tp", s.tp);
  k.size("pp", s.pp);
  k.size("dp", s.dp);
  k.size("ep", s.ep);
  k.word("weights", s.weights, kComputes);
  k.word("experts", s.experts, kComputes);
  k.truth("expert_weights_only", s.expert_weights_only);
  k.number("kv_bytes", s.kv_bytes);
  k.size("input_tokens", s.input_tokens);
  k.size("output_tokens", s.output_tokens);
  k.size("concurrency", s.concurrency);
  k.size("max_num_batched_tokens", s.max_batched_tokens);
  k.truth("cuda_graphs", s.cuda_graphs);
}

/// Sizes that no job can have together.
void check_sizes(const Config& c, const TrainSetup& s) {
  if (s.gpus % (s.tp * s.pp * s.cp) != 0)
    c.fail("gpus",
           fmt::format("{} do not divide by tp {} x pp {} x cp {}", s.gpus, s.tp, s.pp, s.cp));
  if (s.gpus % (s.ep * s.etp * s.pp) != 0)
    c.fail("gpus",
           fmt::format("{} do not divide by ep {} x etp {} x pp {}", s.gpus, s.ep, s.etp, s.pp));
  if (s.zero > 3) c.fail("zero", "must be from 0 to 3");
  if (s.pp * s.vpp > 4096) c.fail("vpp", "makes more than 4096 stages");
  if (s.adapted > 1) c.fail("adapted", "is a share, from 0 to 1");
}

}  // namespace

Result<TimeQuestion> read_time_question(std::string_view json, const std::string& where) {
  const Result<Config> parsed = Config::parse(json, where);
  if (!parsed) return tl::unexpected(parsed.error());
  const Config& c = *parsed;
  TimeQuestion q;
  Keyed k(c);
  k.text("model", q.model);
  k.also("config");
  if (c.has("config")) q.config = c.json("config");
  k.size("num_layers", q.layers, 0);
  k.text("gpu", q.gpu);
  for (auto [key, value] : {std::pair("gpus_per_node", &q.machine.gpus_per_node),
                            std::pair("link_domain", &q.machine.domain)}) {
    std::int64_t n = 0;
    k.size(key, n, 0);
    if (n > 0) *value = n;
  }
  double network = 0;
  k.number("network_gb_s", network);
  if (network > 0) q.machine.network_gb_s = network;
  constexpr std::array<std::string_view, 2> kQuestions = {"train", "serve"};
  k.word("question", q.serves, kQuestions);
  if (q.serves)
    read_serve(k, q.serve);
  else
    read_train(c, k, q.train);
  if (q.model.empty() == q.config.empty())
    c.fail("model", "needs a name, or a config in its place");
  if (q.gpu.empty()) c.fail("gpu", "is missing");
  if (!q.serves) check_sizes(c, q.train);
  if (const Result<void> fine = k.check(); !fine) return tl::unexpected(fine.error());
  return q;
}

Result<ModelShape> shape_of(const TimeQuestion& q, std::string_view text) {
  const Result<Config> parsed = Config::parse(q.config.empty() ? text : std::string_view(q.config),
                                              q.config.empty() ? q.model : std::string("config"));
  if (!parsed) return tl::unexpected(parsed.error());
  if (q.layers == 0) return model_shape(*parsed);
  for (const char* key : {"num_hidden_layers", "n_layer", "n_layers", "num_layers"})
    if (parsed->has(key)) return model_shape(parsed->with_integer(key, q.layers));
  return model_shape(parsed->with_integer("num_hidden_layers", q.layers));
}

}  // namespace memtape::time
