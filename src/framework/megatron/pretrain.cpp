// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/pretrain.h"

#include <optional>
#include <utility>

#include "framework/megatron/chunks.h"
#include "framework/megatron/optimizer.h"
#include "framework/megatron/place.h"
#include "framework/megatron/schedules.h"
#include "framework/torch/low_bits.h"
#include "tape/repeat.h"

namespace memtape::megatron {
namespace {

/// Some fifteen steps pass before the loss scale, which begins at 2^32, is small enough; from the
/// second on they are alike.
constexpr int kOverflows = 2;

/// What pretrain() and train() keep on the device beside the model: program_start_global,
/// start_time_tensor, the reported loss and its running total.
std::vector<Tensor> kept_scalars(const Arguments& a) {
  std::vector<Tensor> kept;
  if (!a.pretrain_loop) return kept;
  const ghost::Op op("pretrain", {});
  const auto keep = [&](std::int64_t elements, DType dtype) {
    kept.push_back(ghost::empty({elements}, dtype, Category::unknown));
  };
  keep(1, DType::float64);  // program_start_global
  keep(1, DType::uint8);    // ProcessGroupNCCL's barrier tensor
  const bool bert = a.program == "pretrain_bert.py";
  for (int i = 0; i < (bert && a.bert_binary_head ? 4 : 2); ++i) keep(1, DType::float32);
  // Transformer Engine caches the sequences' starts where nothing is padded (_get_cu_seqlens).
  if (a.transformer_engine && !bert) keep(a.micro_batch_size + 1, DType::int32);
  if (a.moe.num_experts > 0) keep(1, DType::float32);  // MoEAuxLossAutoScaler's loss scale
  return kept;
}

class Program {
 public:
  Program(const Arguments& a, const Place& place) : a_(a), rank_(a, place.tp), place_(place) {
    scalars_ = kept_scalars(a);
    build();
  }

  /// Where a checkpoint is written on the way, the measured step is the third, the emptying of the
  /// cache, and the step after: the peak that Megatron logs is that since the start.
  torch::StaticBytes run(torch::EqualLayerRuns runs) {
    Schedule schedule(rank_, chunks_, place_.pp, runs == torch::EqualLayerRuns::written_down);
    MegatronOptimizer optimizer(a_, buffers_, place_.shard);
    schedule.scale_loss_by(optimizer.loss_scale());
    if (!a_.pretrain_loop) ghost::session().tape.empty_cache();
    for (int i = 0; a_.scales_loss && i < kOverflows; ++i) run_step(schedule, optimizer, 0, true);
    for (int step = 0; step + 1 < torch::kSteps; ++step) run_step(schedule, optimizer, step, false);
    if (!is_void()) run_last_step(schedule, optimizer);
    if (a_.saves_between && !is_void()) {
      ghost::session().tape.empty_cache();
      run_last_step(schedule, optimizer);
    }
    statics_.optimizer_state_bytes = optimizer.state_bytes();
    ghost::session().finished = true;  // before optimizer and schedule are torn down
    return statics_;
  }

 private:
  /// The run is made again: what it would do from here on is of no use.
  static bool is_void() { return ghost::session().layers_differ; }

  void run_step(Schedule& schedule, MegatronOptimizer& optimizer, int step, bool overflows) {
    if (is_void()) return;
    const Tape& tape = ghost::session().tape;
    one_before_ = std::exchange(last_, {tape.events.size(), 0});
    ghost::session().mark(Phase::forward, step, 0);
    optimizer.zero_grad();
    schedule.run(step);
    sum_whole_gradients(a_, buffers_);
    ghost::session().mark(Phase::optimizer, step, 0);
    optimizer.step(overflows);
    last_.to = tape.events.size();
  }

  /// The last step is not run when the one before it came back to the state it began with, where
  /// what a stage keeps of another's last message, or of the last routing, goes a step later.
  void run_last_step(Schedule& schedule, MegatronOptimizer& optimizer) {
    constexpr int kLast = torch::kSteps - 1;
    Tape& tape = ghost::session().tape;
    if (!given_) given_ = handover(tape, one_before_.from, last_.from);
    if (!given_) return run_step(schedule, optimizer, kLast, false);
    const auto blocks = static_cast<BlockId>(tape.requested.size());
    const std::size_t began = tape.events.size();
    append_again(tape, last_, kLast, *given_);
    const auto taken_since = static_cast<BlockId>(tape.requested.size()) - blocks;
    for (auto& [taken, left] : *given_) taken = std::exchange(left, left + taken_since);
    last_ = {began, tape.events.size()};
  }

  /// wrap_model_chunks_with_ddp of training/models/dist_utils.py builds DDP on a stream of its own.
  StreamId ddp_stream() const { return a_.pretrain_loop ? ghost::session().make_stream() : 0; }

  void build() {
    chunks_ = make_chunks(rank_, place_.pp);
    const ghost::StreamGuard side(ddp_stream());
    buffers_ = buffers_of(rank_, chunks_);
    for (const ParamAndGradBuffer& buffer : buffers_) {
      statics_.gradient_bytes += buffer.grad_data.nbytes();
      for (const Parameter& parameter : buffer.parameters) {
        statics_.parameters += parameter.tensor.numel();
        statics_.parameter_bytes += buffer.param_data.defined() ? 0 : parameter.tensor.nbytes();
        accumulate_into_buffer(parameter.tensor);
      }
      if (buffer.param_data.defined()) statics_.parameter_bytes += buffer.param_data.nbytes();
    }
    statics_.trainable_parameters = statics_.parameters;
    if (a_.lora) count_frozen();
  }

  void count_frozen() {
    for (const auto& chunk : chunks_)
      for (const nn::ModuleNode::Named& named : nn::named_parameters(chunk->root())) {
        if (named.tensor.requires_grad()) continue;
        statics_.parameters += named.tensor.numel();
        statics_.parameter_bytes += named.tensor.nbytes();
      }
  }

  const Arguments& a_;
  Rank rank_;
  Place place_;
  std::vector<Tensor> scalars_;
  std::vector<std::unique_ptr<StageModel>> chunks_;
  std::vector<ParamAndGradBuffer> buffers_;
  torch::StaticBytes statics_;
  EventRange one_before_, last_;   ///< the last two steps
  std::optional<Handover> given_;  ///< from each step to the next, once that is settled
};

}  // namespace

Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Arguments& arguments,
                                     const ghost::DeviceTraits& device, int rank) {
  return torch::run_equal_layers([&](torch::EqualLayerRuns runs) {
    return run_training(recipe, arguments, device, rank, runs);
  });
}

Result<torch::TrainRun> run_training(const TrainRecipe& recipe, const Arguments& arguments,
                                     const ghost::DeviceTraits& device, int rank,
                                     torch::EqualLayerRuns runs) {
  if (arguments.low_bits)
    if (const auto has = torch::check_low_bits(*arguments.low_bits, device, "--precision"); !has)
      return tl::unexpected(has.error());
  ghost::Session session(device, recipe.release);
  session.mark(Phase::init, -1, 0);
  torch::TrainRun run;
  {
    const Place place = Places(arguments).of(rank);
    Program program(arguments, place);
    run.statics = program.run(runs);
    run.rounds_not_followed = rounds_not_followed(arguments, place.pp);
    if (session.error) return tl::unexpected(*session.error);
    run.layers_differ = session.layers_differ;
    run.tape = std::move(session.tape);
  }
  return run;
}

}  // namespace memtape::megatron
