// SPDX-License-Identifier: Apache-2.0
#include "sample_prediction.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "report/largest.h"

namespace memtape::test {
namespace {

constexpr std::int64_t kBaseAddress = 0x7f0000000000;

/// Rounds as torch's allocator does and reuses blocks of equal size; never splits, merges or gives
/// back.
class SampleAllocator {
 public:
  explicit SampleAllocator(Trace& trace) : trace_(trace) {}

  void play() {
    for (std::size_t i = 0; i < trace_.tape.events.size(); ++i) {
      const Event& e = trace_.tape.events[i];
      if (e.kind == EventKind::mark) open_window(trace_.tape.marks[e.block], i);
      if (e.kind == EventKind::alloc) take(e.block, i);
      if (e.kind == EventKind::free) give(e.block);
      trace_.timeline.samples.push_back({i, levels_});
      if (!trace_.timeline.windows.empty()) raise(trace_.timeline.windows.back(), i);
    }
    if (!trace_.timeline.windows.empty())
      trace_.timeline.windows.back().last_event = trace_.tape.events.size();
    trace_.timeline.final_levels = levels_;
  }

 private:
  void open_window(const Mark& mark, std::size_t event) {
    auto& windows = trace_.timeline.windows;
    if (!windows.empty()) windows.back().last_event = event;
    windows.push_back({mark, event, event, levels_, event, levels_});
  }

  void raise(Window& w, std::size_t event) const {
    if (levels_.allocated > w.peak.allocated) w.peak_event = event;
    w.peak = {std::max(w.peak.requested, levels_.requested),
              std::max(w.peak.allocated, levels_.allocated),
              std::max(w.peak.reserved, levels_.reserved)};
  }

  void take(BlockId block, std::size_t event) {
    const Bytes requested = trace_.tape.requested[block],
                size = round_up(std::max<Bytes>(requested, 1), 512);
    auto& cached = free_[size];
    if (cached.empty()) cached.push_back(place(size, event));
    trace_.addresses.push_back(cached.back());
    cached.pop_back();
    trace_.sizes.push_back(size);
    levels_.requested += requested;
    levels_.allocated += size;
  }

  void give(BlockId block) {
    free_[trace_.sizes[block]].push_back(trace_.addresses[block]);
    levels_.requested -= trace_.tape.requested[block];
    levels_.allocated -= trace_.sizes[block];
  }

  std::int64_t place(Bytes size, std::size_t event) {
    const bool small = size <= 1_MiB;
    const Bytes segment = small ? 2_MiB : size < 10_MiB ? 20_MiB : round_up(size, 2_MiB);
    auto& [at, end] = open_[small];
    if (at + size > end || size >= 10_MiB) {
      trace_.segments.push_back({event, true, small, false, 0, top_, segment});
      levels_.reserved += segment;
      const std::int64_t start = top_;
      top_ += segment;
      if (size >= 10_MiB) return start;
      at = start;
      end = top_;
    }
    return std::exchange(at, at + size);
  }

  Trace& trace_;
  Levels levels_;
  std::map<Bytes, std::vector<std::int64_t>> free_;
  std::map<bool, std::pair<std::int64_t, std::int64_t>> open_;
  std::int64_t top_ = kBaseAddress;
};

using Shape = std::vector<int>;

/// Writes the tape: the model, then steps of forward, backward and optimizer.
class SampleProgram {
 public:
  SampleProgram(const SampleOptions& options, Tape& tape) : o_(options), tape_(tape) {}

  void run() {
    tape_.mark({Phase::init, -1, 0});
    build();
    for (int step = 0; step < 3; ++step) {
      for (int micro_batch = 0; micro_batch < o_.micro_batches; ++micro_batch) {
        mark(Phase::forward, step, micro_batch);
        forward();
        mark(Phase::backward, step, micro_batch);
        backward();
      }
      mark(Phase::optimizer, step, 0);
      optimize(step == 0);
    }
  }

  Bytes parameters() const { return parameter_bytes_; }

 private:
  struct Weight {
    ScopeId scope;
    Shape shape;
    BlockId gradient = 0;
    bool has_gradient = false;
  };
  struct Layer {
    ScopeId attention, mlp;
    std::vector<std::size_t> weights;
    std::vector<BlockId> kept;
  };

  void mark(Phase phase, int step, int micro_batch) {
    phase_ = phase;
    tape_.mark({phase, step, micro_batch});
  }

  BlockId take(Category category, ScopeId scope, const Shape& shape,
               std::pair<const char*, const char*> made, DType dtype = DType::bfloat16) {
    Why why{.op = made.first,
            .node = made.second,
            .scope = scope,
            .category = category,
            .phase = phase_,
            .dtype = dtype,
            .shape = {}};
    std::int64_t count = 1;
    for (int d : shape) {
      why.shape.dims[why.shape.rank++] = d;
      count *= d;
    }
    return tape_.alloc(bytes_of(dtype, count), 0, why);
  }

  std::size_t weight(ScopeId parent, const char* module, const Shape& shape) {
    const ScopeId scope = tape_.scopes.add(tape_.scopes.add(parent, module), "weight");
    weights_.push_back({scope, shape});
    parameter_bytes_ += tape_.requested[take(Category::parameter, scope, shape, {"empty", ""})];
    return weights_.size() - 1;
  }

  void build() {
    model_ = tape_.scopes.add(0, "model");
    embedding_ = weight(model_, "embed_tokens", {o_.vocabulary, o_.hidden});
    const ScopeId list = tape_.scopes.add(model_, "layers");
    for (int i = 0; i < o_.layers; ++i) {
      const ScopeId layer = tape_.scopes.add(list, std::to_string(i));
      const ScopeId attention = tape_.scopes.add(layer, "self_attn"),
                    mlp = tape_.scopes.add(layer, "mlp");
      layers_.push_back({attention, mlp, {}, {}});
      auto& weights = layers_.back().weights;
      weights.push_back(weight(attention, "q_proj", {o_.hidden, o_.hidden}));
      weights.push_back(weight(attention, "k_proj", {o_.heads_width, o_.hidden}));
      weights.push_back(weight(attention, "v_proj", {o_.heads_width, o_.hidden}));
      weights.push_back(weight(attention, "o_proj", {o_.hidden, o_.hidden}));
      weights.push_back(weight(mlp, "gate_proj", {o_.intermediate, o_.hidden}));
      weights.push_back(weight(mlp, "up_proj", {o_.intermediate, o_.hidden}));
      weights.push_back(weight(mlp, "down_proj", {o_.hidden, o_.intermediate}));
      weights.push_back(weight(layer, "input_layernorm", {o_.hidden}));
    }
    rotary_ = tape_.scopes.add(tape_.scopes.add(model_, "rotary_emb"), "inv_freq");
    take(Category::buffer, rotary_, {33}, {"empty", ""}, DType::float32);
    head_ = weight(0, "lm_head", {o_.vocabulary, o_.hidden});
    loss_ = tape_.scopes.add(0, "loss");
    phase_ = Phase::forward;
    take(Category::workspace, 0, {8519680}, {"mm", ""}, DType::uint8);
  }

  BlockId keep(Layer& layer, ScopeId scope, int width, std::pair<const char*, const char*> made) {
    layer.kept.push_back(take(Category::activation, scope, {1, o_.tokens, width}, made));
    return layer.kept.back();
  }

  void forward() {
    input_ = take(Category::input, 0, {1, o_.tokens}, {"zeros", ""}, DType::int64);
    for (Layer& layer : layers_) {
      const BlockId wide = take(Category::temporary, layer.attention, {1, o_.tokens, o_.hidden},
                                {"_to_copy", ""}, DType::float32);
      keep(layer, layer.attention, o_.hidden, {"mul", "MmBackward0"});
      tape_.free(wide);
      keep(layer, layer.attention, o_.hidden, {"mm", "ScaledDotProductFlashAttentionBackward0"});
      keep(layer, layer.attention, o_.heads_width,
           {"mm", "ScaledDotProductFlashAttentionBackward0"});
      keep(layer, layer.attention, o_.heads_width,
           {"mm", "ScaledDotProductFlashAttentionBackward0"});
      keep(layer, layer.attention, o_.hidden,
           {"_scaled_dot_product_flash_attention", "MmBackward0"});
      keep(layer, layer.mlp, o_.intermediate, {"mm", "SiluBackward0"});
      keep(layer, layer.mlp, o_.intermediate, {"silu", "MulBackward0"});
      keep(layer, layer.mlp, o_.intermediate, {"mm", "MulBackward0"});
      keep(layer, layer.mlp, o_.intermediate, {"mul", "MmBackward0"});
      tape_.free(take(Category::temporary, layer.mlp, {1, o_.tokens, o_.hidden}, {"mm", ""}));
    }
    logits_ = take(Category::activation, loss_, {o_.tokens, o_.vocabulary},
                   {"_to_copy", "LogSoftmaxBackward0"}, DType::float32);
  }

  void gradient(Weight& w) {
    const BlockId fresh = take(w.has_gradient ? Category::temporary : Category::gradient, w.scope,
                               w.shape, {"mm", "MmBackward0"});
    if (w.has_gradient)
      tape_.free(fresh);
    else
      w.gradient = fresh;
    w.has_gradient = true;
  }

  void backward() {
    BlockId flowing = take(Category::autograd_detail, loss_, {o_.tokens, o_.vocabulary},
                           {"_log_softmax_backward_data", "LogSoftmaxBackward0"}, DType::float32);
    tape_.free(logits_);
    gradient(weights_[head_]);
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      const BlockId next = take(Category::autograd_detail, layer->mlp, {o_.tokens, o_.hidden},
                                {"mm", "MmBackward0"});
      tape_.free(flowing);
      for (auto w = layer->weights.rbegin(); w != layer->weights.rend(); ++w) {
        gradient(weights_[*w]);
        if (layer->kept.empty()) continue;
        tape_.free(layer->kept.back());
        layer->kept.pop_back();
      }
      for (; !layer->kept.empty(); layer->kept.pop_back()) tape_.free(layer->kept.back());
      flowing = next;
    }
    gradient(weights_[embedding_]);
    tape_.free(flowing);
    tape_.free(input_);
  }

  void optimize(bool first) {
    if (first)
      for (const Weight& w : weights_)
        for (int moment = 0; moment < 2; ++moment)
          take(Category::optimizer_state, w.scope, w.shape, {"zeros_like", ""});
    for (Weight& w : weights_) {
      tape_.free(w.gradient);
      w.has_gradient = false;
    }
  }

  const SampleOptions& o_;
  Tape& tape_;
  Phase phase_ = Phase::init;
  ScopeId model_ = 0, rotary_ = 0, loss_ = 0;
  std::size_t embedding_ = 0, head_ = 0;
  std::vector<Weight> weights_;
  std::vector<Layer> layers_;
  BlockId input_ = 0, logits_ = 0;
  Bytes parameter_bytes_ = 0;
};

/// Blocks alive after event `at`.
std::vector<BlockId> alive_after(const Tape& tape, std::size_t at) {
  std::vector<BlockId> ids;
  for (std::size_t i = 0; i <= at; ++i) {
    const Event& e = tape.events[i];
    if (e.kind == EventKind::alloc) ids.push_back(e.block);
    if (e.kind == EventKind::free) ids.erase(std::find(ids.begin(), ids.end(), e.block));
  }
  return ids;
}

CategoryBytes by_category(const Trace& trace, std::size_t at) {
  CategoryBytes bytes;
  for (BlockId id : alive_after(trace.tape, at))
    bytes[trace.tape.why.category(id)] += trace.sizes[id];
  return bytes;
}

RankReport report_of(const Trace& trace, Bytes parameters, Bytes context) {
  RankReport rank;
  rank.parameter_bytes = rank.gradient_bytes = parameters;
  rank.buffer_bytes = 33 * 4;
  rank.optimizer_state_bytes = 2 * parameters;
  const Window* highest = nullptr;
  for (const Window& w : trace.timeline.windows) {
    if (w.mark.step != trace.step) continue;
    if (!highest || w.peak.allocated > highest->peak.allocated) highest = &w;
    rank.peak.reserved = std::max(rank.peak.reserved, w.peak.reserved);
    rank.peak.requested = std::max(rank.peak.requested, w.peak.requested);
    if (w.mark.micro_batch == 0)
      rank.phases.push_back({w.mark.phase, w.peak, by_category(trace, w.peak_event)});
  }
  rank.peak.allocated = highest->peak.allocated;
  rank.peak_phase = highest->mark.phase;
  rank.at_peak = by_category(trace, highest->peak_event);
  const Why why = trace.tape.why[trace.tape.events[highest->peak_event].block];
  rank.peak_moment = {highest->peak_event, trace.tape.scopes.path(why.scope), why.op, why.node};
  rank.steady = trace.timeline.final_levels;
  rank.peak_device_bytes = rank.peak.reserved + context;
  rank.largest = report::largest_tensors(trace.tape, trace.sizes,
                                         alive_after(trace.tape, highest->peak_event), 12);
  return rank;
}

}  // namespace

Sample make_sample(const SampleOptions& options) {
  Sample sample;
  SampleProgram program(options, sample.trace.tape);
  program.run();
  SampleAllocator(sample.trace).play();

  Prediction& p = sample.prediction;
  const Bytes context = 512_MiB;
  p.model = {"example/decoder", "llama", program.parameters() / 2, program.parameters() / 2,
             program.parameters()};
  p.workload = {{"framework", "\"torch\""},
                {"micro_batch_size", "1"},
                {"sequence_length", std::to_string(options.tokens)},
                {"gradient_accumulation", std::to_string(options.micro_batches)},
                {"precision", "\"bf16\""},
                {"optimizer", "\"adamw\""},
                {"optimizer_impl", "\"fused\""},
                {"max_grad_norm", "1.0"},
                {"gradient_checkpointing", "\"none\""},
                {"attention", "\"sdpa\""},
                {"lora_rank", "null"}};
  p.mesh = {{"gpus", "1"}};
  p.device = DeviceSummary{"Example GPU 8GB", "example-8gb", options.device_bytes, context,
                           "a made-up device"};
  p.ranks = {report_of(sample.trace, program.parameters(), context)};
  p.fits = p.ranks[0].peak_device_bytes <= options.device_bytes;
  p.verdict = *p.fits ? VerdictWord::fits : VerdictWord::does_not_fit;
  p.headroom_bytes = options.device_bytes - p.ranks[0].peak_device_bytes;
  p.bounds = {p.ranks[0].peak_device_bytes,
              p.ranks[0].peak_device_bytes + 64_MiB,
              {"the CUDA context's size differs between driver versions"}};
  p.advice = {{.change = "--gradient-checkpointing full",
               .command = "memtape train example/decoder --gradient-checkpointing full",
               .peak_device_bytes = p.ranks[0].peak_device_bytes - 512_MiB,
               .cost = "one more forward pass"}};
  p.warnings = {"the model's dtype is not given in its config: bf16 was taken"};
  return sample;
}

}  // namespace memtape::test
