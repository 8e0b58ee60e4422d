// SPDX-License-Identifier: Apache-2.0
#include "time/train_time.h"

#include <algorithm>
#include <cmath>

namespace memtape::time {
namespace {

double step_double(std::int64_t x) { return static_cast<double>(x); }

/// Messages behind computation slow it down (layer_time.cpp).
constexpr double kStepSlowdown = 0.2;
/// Gradients are reduced in buckets: the last one has nothing left to hide behind.
constexpr double kLastBucket = 0.05;
/// Of a layer's launches, those after its dispatcher's copy of counts to the host.
constexpr double kShareThatWaits = 0.4;
/// A graph's kernels start one after the other without the host.
constexpr double kHostOfGraph = 0.1;
/// Of host memory's rate, what an optimizer on the CPU reaches, and of PCIe's a copy.
constexpr double kShareOfHost = 0.5;
constexpr double kShareOfPcie = 0.8;

/// Whether the layers from `first` to before `last` are of one kind.
bool are_alike(const ModelShape& shape, std::int64_t first, std::int64_t last) {
  std::int64_t at = 0;
  for (const LayerShape& layer : shape.layers) {
    if (first >= at && last <= at + layer.count) return true;
    at += layer.count;
  }
  return false;
}

/// Adapters are about so much of a model: their messages and their optimizer hardly count.
constexpr double kTrainedOfAdapters = 0.01;

}  // namespace

struct TrainClock::Layers {
  std::vector<LayerTime> by_run;  ///< of ModelShape::layers
  LayerTime embedding, head;
};

/// A chunk of layers on a rank, for one micro-batch.
struct TrainClock::Stage {
  Spent forward, recompute, backward, weights;
  double dense = 0, experts = 0;  ///< parameters on this rank
  double layers = 0;
  double gathers_forward = 0, gathers_backward = 0;  ///< of sharded parameters, where waited for
  double sharded_hidden = 0;

  double host_forward(const TrainSetup& s) const {
    return forward.kernels * s.host_seconds_per_op * (s.cuda_graphs ? kHostOfGraph : 1);
  }
  double host_backward(const TrainSetup& s) const {
    return (backward.kernels + weights.kernels + recompute.kernels) * s.host_seconds_per_op *
           (s.cuda_graphs ? kHostOfGraph : 1);
  }
  double forward_work() const { return forward.compute() + forward.messages(); }
  double backward_work() const {
    return backward.compute() + backward.messages() + weights.compute() + weights.messages() +
           recompute.compute() + recompute.messages();
  }
  /// The host runs ahead of the GPU; where a dispatcher waits for counts of tokens, what it
  /// launches next finds the GPU idle.
  double with_host(double work, double host) const {
    return std::max(work, host) + (experts > 0 ? kShareThatWaits * std::min(work, host) : 0);
  }
  double forward_seconds(const TrainSetup& s) const {
    return with_host(forward_work(), host_forward(s)) + gathers_forward;
  }
  double backward_seconds(const TrainSetup& s) const {
    return with_host(backward_work(), host_backward(s)) + gathers_backward;
  }
};

const TrainClock::Layers& TrainClock::layers_of(const TrainSetup& s) const {
  const Recompute& r = s.recompute;
  const std::int64_t switches =
      (s.sequence_parallel ? 1 : 0) + (s.fused ? 2 : 0) + (s.flash_attention ? 4 : 0) +
      (s.overlaps_tensor ? 8 : 0) + (s.overlaps_experts ? 16 : 0) + (s.fast_dispatch ? 32 : 0) +
      (s.quantized_base ? 64 : 0) + (r.core_attention ? 128 : 0) + (r.mlp ? 256 : 0) +
      (r.norms ? 512 : 0) + (r.mla_up ? 1024 : 0) + (r.moe ? 2048 : 0) + (r.moe_act ? 16384 : 0) +
      (r.shared_experts ? 32768 : 0) + (r.stops_early ? std::int64_t{1} << 20 : 0) +
      (r.keeps_qkv ? std::int64_t{1} << 21 : 0) + (r.keeps_out ? std::int64_t{1} << 22 : 0) +
      (r.keeps_mlp ? std::int64_t{1} << 23 : 0) +
      static_cast<std::int64_t>(s.flash_version) * (std::int64_t{1} << 24) +
      static_cast<std::int64_t>(s.adapted * 1000) * (std::int64_t{1} << 26) +
      static_cast<std::int64_t>(r.kind) * 4096 + static_cast<std::int64_t>(s.compute) * 65536;
  const std::vector<std::int64_t> key = {s.tp,          s.cp,       s.ep,        s.etp,
                                         s.micro_batch, s.sequence, s.lora_rank, switches};
  const auto found = kept_.find(key);
  if (found != kept_.end()) return *found->second;
  Layers layers;
  for (const LayerShape& layer : shape_.layers) layers.by_run.push_back(layers_.layer(layer, s));
  layers.embedding = layers_.embedding(s);
  layers.head = layers_.head(s);
  return *kept_.emplace(key, std::make_shared<const Layers>(std::move(layers))).first->second;
}

/// Parameters of one rank, and over how many each kind is sharded.
struct TrainClock::Sharding {
  std::int64_t ranks = 1, expert_ranks = 1;
  Group group, replicas, expert_group;
};

TrainClock::Sharding TrainClock::sharding(const TrainSetup& s) const {
  const std::int64_t domain = kernels_.machine().domain;
  Sharding z;
  const std::int64_t all = s.dp() * s.cp;
  z.ranks = s.shard_ranks > 0 ? std::min(s.shard_ranks, all) : all;
  z.group = Group::strided(z.ranks, s.tp, domain);
  z.replicas = Group::strided(all / z.ranks, s.tp * z.ranks, domain);
  z.expert_ranks =
      std::max<std::int64_t>(s.gpus / std::max<std::int64_t>(s.pp * s.ep * s.etp, 1), 1);
  z.expert_group = Group::strided(z.expert_ranks, s.ep * s.etp, domain);
  return z;
}

/// Fully sharded parameters: each layer is gathered before it runs, forward and backward, and its
/// gradients are reduced, behind the layer before.
void TrainClock::add_sharded(Stage& stage, const TrainSetup& s) const {
  const Sharding z = sharding(s);
  const double layers = std::max(stage.layers, 1.0);
  const auto messages = [&](double parameters, Group group, double bytes, Message message) {
    return layers * collectives_.seconds(message, parameters / layers * bytes, group);
  };
  const double gather =
      messages(stage.dense, z.group, s.parameter_bytes, Message::all_gather) +
      messages(stage.experts, z.expert_group, s.parameter_bytes, Message::all_gather);
  double reduce =
      messages(stage.dense, z.group, s.gradient_bytes, Message::reduce_scatter) +
      messages(stage.experts, z.expert_group, s.gradient_bytes, Message::reduce_scatter);
  if (s.lora_rank > 0) reduce = 0;
  if (z.replicas.ranks > 1)
    reduce += collectives_.seconds(
        Message::all_reduce, stage.dense / step_double(z.ranks) * s.gradient_bytes, z.replicas);
  if (s.reduces_last) reduce /= step_double(s.micro_batches());
  const double again = s.reshard_after_forward ? gather : 0;
  const double forward = stage.forward_work(), backward = stage.backward_work();
  const auto shown = [&](double messages_seconds, double work) {
    return std::max(messages_seconds - work, 0.0) + messages_seconds / layers +
           kStepSlowdown * std::min(messages_seconds, work);
  };
  stage.gathers_forward = shown(gather, forward);
  stage.gathers_backward = shown(again + reduce, backward);
  stage.sharded_hidden = gather + again + reduce;
}

/// Where each chunk's layers begin. As many layers a chunk as there are; where that does not come
/// out even, embedding, further tokens and the output count as what they cost, which is what the
/// layouts that people write by hand are for (--pipeline-model-parallel-layout,
/// --account-for-loss-in-pipeline-split).
std::vector<std::int64_t> TrainClock::cuts(const TrainSetup& s, const Layers& layers) const {
  const std::int64_t chunks = s.pp * s.vpp, total = shape_.layer_count();
  std::vector<std::int64_t> first(static_cast<std::size_t>(chunks) + 1, 0);
  if (chunks == 1 || total % chunks == 0) {
    for (std::int64_t c = 0; c <= chunks; ++c)
      first[static_cast<std::size_t>(c)] = c * total / chunks;
    return first;
  }
  const auto seconds = [](const LayerTime& t) {
    return t.forward.compute() + t.backward.compute() + t.weights.compute();
  };
  const double layer = std::max(seconds(layers.by_run.back()), 1e-12);
  const double tail = seconds(layers.head) / layer + step_double(shape_.predicted_tokens - 1);
  const double each = (step_double(total) + tail) / step_double(chunks);
  for (std::int64_t c = 1; c < chunks; ++c)
    first[static_cast<std::size_t>(c)] =
        std::min(total, static_cast<std::int64_t>(std::lround(each * step_double(c))));
  first.back() = total;
  return first;
}

/// The layers of one chunk.
TrainClock::Stage TrainClock::chunk(const TrainSetup& s, const Layers& layers, std::int64_t first,
                                    std::int64_t last) const {
  const bool part = s.recompute.kind == Recompute::Kind::full && s.recompute.layers > 0;
  Stage stage;
  std::int64_t at = 0;
  for (std::size_t i = 0; i < shape_.layers.size(); at += shape_.layers[i++].count) {
    const LayerShape& layer = shape_.layers[i];
    const auto n = step_double(
        std::max<std::int64_t>(std::min(last, at + layer.count) - std::max(first, at), 0));
    if (n <= 0) continue;
    const LayerTime& t = layers.by_run[i];
    stage.forward += t.forward.times(n);
    stage.backward += t.backward.times(n);
    stage.weights += t.weights.times(n);
    stage.recompute += t.recompute.times(
        part ? std::min(1.0, step_double(s.recompute.layers) / step_double(last - first)) * n : n);
    const double all = shape_.layer_parameters(layer);
    LayerShape dense = layer;
    dense.mlp.experts = dense.mlp.is_mixture() ? 1 : 0;
    const double experts = layer.mlp.is_mixture() ? all - shape_.layer_parameters(dense) : 0;
    stage.dense += n * (all - experts) / step_double(s.tp);
    stage.experts += n * experts / step_double(s.ep * s.etp);
    stage.layers += n;
  }
  return stage;
}

std::vector<TrainClock::Stage> TrainClock::stages(const TrainSetup& s, const Layers& layers) const {
  const std::int64_t chunks = s.pp * s.vpp;
  const std::vector<std::int64_t> first = cuts(s, layers);
  std::vector<Stage> stages;
  for (std::size_t c = 0; c < static_cast<std::size_t>(chunks); ++c) {
    const bool is_like_last = c > 0 && first[c + 1] - first[c] == first[c] - first[c - 1] &&
                              are_alike(shape_, first[c - 1], first[c + 1]);
    stages.push_back(is_like_last ? Stage(stages.back())
                                  : chunk(s, layers, first[c], first[c + 1]));
  }
  const double embedded = step_double(shape_.hidden * shape_.vocab) / step_double(s.tp);
  Stage& front = stages.front();
  front.forward += layers.embedding.forward;
  front.backward += layers.embedding.backward;
  front.dense += embedded;
  Stage& back = stages.back();
  back.forward += layers.head.forward;
  back.backward += layers.head.backward;
  back.weights += layers.head.weights;
  if (!shape_.tied || chunks > 1) back.dense += embedded;
  if (shape_.predicted_tokens > 1) {  // a layer more for each further token
    const auto n = step_double(shape_.predicted_tokens - 1);
    back.forward += layers.by_run.back().forward.times(n);
    back.backward += layers.by_run.back().backward.times(n);
    back.weights += layers.by_run.back().weights.times(n);
  }
  if (s.zero >= 3)
    for (Stage& stage : stages) add_sharded(stage, s);
  return stages;
}

/// Gradients once a step, and the parameters that the optimizer changed: what cannot hide behind
/// the last backward and the first forward.
double TrainClock::data_messages(const TrainSetup& s, const Stage& rank, double& hidden) const {
  const Sharding z = sharding(s);
  const double trained = s.lora_rank > 0 ? kTrainedOfAdapters : 1;
  const auto of = [&](Message message, double bytes) {
    return collectives_.seconds(message, rank.dense * trained * bytes, z.group) +
           collectives_.seconds(message, rank.experts * trained * bytes, z.expert_group);
  };
  if (s.zero >= 3) return 0;
  const double reduce =
      of(s.zero == 0 ? Message::all_reduce : Message::reduce_scatter, s.gradient_bytes);
  const double gather = s.zero == 0 ? 0 : of(Message::all_gather, s.parameter_bytes);
  const auto shown = [&](double seconds, double work, bool overlaps) {
    if (!overlaps) return seconds;
    const double over = std::max(seconds - work, seconds * kLastBucket);
    hidden += seconds - over;
    return over + kStepSlowdown * (seconds - over);
  };
  return shown(reduce, rank.backward_work(), s.overlaps_gradients) +
         shown(gather, rank.forward_work(), s.overlaps_parameters);
}

double TrainClock::optimizer_seconds(const TrainSetup& s, double parameters) const {
  if (s.offload != OptimizerOffload::none) return 0;
  return kernels_.elementwise(parameters * s.optimizer_bytes) + 30e-6;
}

/// Gradients go to the host, its cores run the optimizer, parameters come back.
double TrainClock::offload_seconds(const TrainSetup& s, double parameters) const {
  if (s.offload == OptimizerOffload::none) return 0;
  const Machine& m = kernels_.machine();
  const double near = step_double(std::min(s.gpus, m.gpus_per_node));
  const double copies = parameters * (s.gradient_bytes + s.parameter_bytes) /
                        (m.pcie_bytes_per_second * kShareOfPcie);
  return copies + parameters * s.optimizer_bytes * near / (m.host_bytes_per_second * kShareOfHost);
}

double model_flops(const ModelShape& shape, double tokens, double sequence) {
  double forward = 2 * shape.active_parameters() * tokens;
  for (const LayerShape& layer : shape.layers) {
    const AttentionShape& a = layer.attention;
    if (a.kind == AttentionShape::Kind::none || a.kind == AttentionShape::Kind::linear) continue;
    double seen = shape.causal ? sequence / 2 : sequence;
    if (a.window > 0) seen = std::min(seen, step_double(a.window));
    forward += step_double(layer.count) * 2 * tokens * step_double(a.heads) * seen *
               step_double(a.head_dim + a.value_head_dim);
  }
  return 3 * forward;
}

Pipeline TrainClock::pipeline(const TrainSetup& s, const std::vector<Stage>& stages) const {
  Pipeline pipeline{.schedule = s.schedule,
                    .ranks = s.pp,
                    .chunks_per_rank = s.vpp,
                    .micro_batches = s.micro_batches(),
                    .chunks = {}};
  const bool parts = s.schedule == PipelineSchedule::zero_bubble ||
                     s.schedule == PipelineSchedule::zbv ||
                     s.schedule == PipelineSchedule::dual_pipe_v;
  for (const Stage& stage : stages) {
    const double weights = parts ? stage.weights.compute() : 0;
    pipeline.chunks.push_back(
        {stage.forward_seconds(s), std::max(stage.backward_seconds(s) - weights, 0.0), weights});
  }
  const double tokens = step_double(s.micro_batch * s.sequence) / step_double(s.cp);
  const double cut_by = s.sequence_parallel ? step_double(s.tp) : 1;
  const double sent = tokens * step_double(shape_.hidden) * 2 / cut_by;
  const bool near = s.gpus <= kernels_.machine().domain;
  pipeline.send = s.pp > 1 ? collectives_.send(sent, near) : 0;
  pipeline.overlaps_sends = s.vpp > 1;
  return pipeline;
}

/// The schedule is run once for pipelines whose chunks take the same to a 32nd of their mean and
/// that differ in micro-batches of the steady state alone; what differs is the unit.
PipelineTime TrainClock::run(const Pipeline& p) const {
  constexpr double kSteps = 32;
  double unit = 0;
  for (const ChunkTime& t : p.chunks) unit += t.forward + t.backward + t.weights;
  unit /= step_double(static_cast<std::int64_t>(p.chunks.size()));
  if (p.ranks == 1 || unit <= 0) return run_pipeline(p);
  Pipeline rounded = p;
  rounded.micro_batches = followed_micro_batches(p);
  std::vector<std::int64_t> key = {static_cast<std::int64_t>(p.schedule), p.ranks,
                                   p.chunks_per_rank, rounded.micro_batches,
                                   p.overlaps_sends ? 1 : 0};
  const auto round = [&](double& seconds) {
    const auto steps = static_cast<std::int64_t>(std::lround(seconds / unit * kSteps));
    key.push_back(steps);
    seconds = step_double(steps) / kSteps;
  };
  for (ChunkTime& t : rounded.chunks) round(t.forward), round(t.backward), round(t.weights);
  round(rounded.send);
  PipelineTime time;
  std::vector<double> busy(static_cast<std::size_t>(p.ranks), 0);
  for (std::size_t c = 0; c < p.chunks.size(); ++c)
    busy[static_cast<std::size_t>(p.rank_of(static_cast<std::int64_t>(c)))] +=
        p.chunks[c].forward + p.chunks[c].backward + p.chunks[c].weights;
  const auto most = std::max_element(busy.begin(), busy.end());
  time.slowest = most - busy.begin();
  time.busy = *most * step_double(p.micro_batches);
  auto found = bubbles_.find(key);
  if (found == bubbles_.end()) {
    const PipelineTime of = run_pipeline(rounded);
    found = bubbles_.emplace(std::move(key), of.seconds - of.busy).first;
  }
  const double further = step_double(p.micro_batches - rounded.micro_batches);
  time.seconds = time.busy + (found->second + further * waits_of_another(rounded)) * unit;
  return time;
}

/// All chunks of a rank together.
TrainClock::Stage TrainClock::rank_of(const Pipeline& pipeline, const std::vector<Stage>& stages,
                                      std::int64_t rank) {
  Stage sum;
  for (std::size_t c = 0; c < stages.size(); ++c) {
    if (pipeline.rank_of(static_cast<std::int64_t>(c)) != rank) continue;
    const Stage& stage = stages[c];
    sum.forward += stage.forward;
    sum.recompute += stage.recompute;
    sum.backward += stage.backward;
    sum.weights += stage.weights;
    sum.dense += stage.dense;
    sum.experts += stage.experts;
    sum.gathers_forward += stage.gathers_forward;
    sum.gathers_backward += stage.gathers_backward;
    sum.sharded_hidden += stage.sharded_hidden;
  }
  return sum;
}

/// What the slowest rank does, by kind; `once` are the parts that come once a step.
struct TrainClock::Once {
  double data = 0, hidden = 0, optimizer = 0, offload = 0;
};

std::vector<TimePart> TrainClock::parts_of(const TrainSetup& s, const Stage& rank, const Once& once,
                                           double pipeline_seconds, double busy) {
  const auto n = step_double(s.micro_batches());
  Spent pass = rank.forward;
  pass += rank.backward;
  pass += rank.weights;
  const Spent total = pass.times(n), again = rank.recompute.times(n);
  const double work = total.compute() + total.messages() + again.compute() + again.messages();
  const double gathers = (rank.gathers_forward + rank.gathers_backward) * n;
  std::vector<TimePart> parts;
  const auto add = [&](PartKind kind, std::string_view what, double on_path, double behind = 0) {
    if (on_path > 1e-9 || behind > 1e-9) parts.push_back({kind, what, on_path, behind});
  };
  add(PartKind::compute, "gemm", total.gemm);
  add(PartKind::compute, "attention", total.attention);
  add(PartKind::compute, "elementwise", total.elementwise);
  add(PartKind::compute, "recomputation", again.compute());
  add(PartKind::message, "tp", total.tp + again.tp, total.hidden + again.hidden);
  add(PartKind::message, "ep", total.ep + again.ep);
  add(PartKind::message, "cp", total.cp + again.cp);
  add(PartKind::message, "dp", once.data + gathers, once.hidden + rank.sharded_hidden * n);
  add(PartKind::bubble, "pipeline", pipeline_seconds - busy);
  add(PartKind::host, "launches", std::max(busy - work - gathers, 0.0));
  add(PartKind::optimizer, "optimizer", once.optimizer);
  add(PartKind::offload, "offload", once.offload);
  return parts;
}

StepTime TrainClock::step(const TrainSetup& s, bool timeline, bool explains) const {
  const std::vector<Stage> all = stages(s, layers_of(s));
  const Pipeline chunks = pipeline(s, all);
  const PipelineTime run = this->run(chunks);
  const Stage rank = rank_of(chunks, all, run.slowest);
  const Sharding z = sharding(s);
  double held = rank.dense / (s.zero >= 1 ? step_double(z.ranks) : 1) +
                rank.experts / (s.zero >= 1 ? step_double(z.expert_ranks) : 1);
  if (s.lora_rank > 0) held *= kTrainedOfAdapters;
  Once once;
  once.data = data_messages(s, rank, once.hidden);
  once.optimizer = optimizer_seconds(s, held);
  once.offload = offload_seconds(s, held);
  const double seconds = run.seconds + once.data + once.optimizer + once.offload;
  StepTime time;
  time.seconds = {seconds, seconds, seconds};
  if (timeline) time.timeline = run_pipeline(chunks, true).slots;
  if (explains) time.parts = parts_of(s, rank, once, run.seconds, run.busy);
  return time;
}

}  // namespace memtape::time
