// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/pretrain.h"

#include "framework/megatron/chunks.h"
#include "framework/megatron/optimizer.h"
#include "framework/megatron/place.h"
#include "framework/megatron/schedules.h"
#include "tape/repeat.h"

namespace memtape::megatron {
namespace {

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

  /// The last step is not run when the one before it came back to the state it began with; what
  /// one stage keeps of another's last message, or of the last routing, goes a step later.
  torch::StaticBytes run() {
    Schedule schedule(rank_, chunks_, place_.pp);
    MegatronOptimizer optimizer(a_, buffers_, place_.shard);
    Tape& tape = ghost::session().tape;
    std::size_t last_began = 0;
    for (int step = 0; step < torch::kSteps; ++step) {
      const bool again = step + 1 == torch::kSteps && is_steady(tape, last_began);
      if (again) {
        append_again(tape, last_began, step);
        break;
      }
      last_began = tape.events.size();
      ghost::session().mark(Phase::forward, step, 0);
      optimizer.zero_grad();
      schedule.run(step);
      ghost::session().mark(Phase::optimizer, step, 0);
      optimizer.step();
    }
    statics_.optimizer_state_bytes = optimizer.state_bytes();
    return statics_;
  }

 private:
  /// wrap_model_chunks_with_ddp of training/models/dist_utils.py builds DDP on a stream of its own.
  StreamId ddp_stream() const { return a_.pretrain_loop ? ghost::session().make_stream() : 0; }

  void build() {
    chunks_ = make_chunks(rank_, place_.pp);
    const ghost::StreamGuard side(ddp_stream());
    buffers_ = buffers_of(a_, chunks_);
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
  }

  const Arguments& a_;
  Rank rank_;
  Place place_;
  std::vector<Tensor> scalars_;
  std::vector<std::unique_ptr<StageModel>> chunks_;
  std::vector<ParamAndGradBuffer> buffers_;
  torch::StaticBytes statics_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank) {
  const Result<Arguments> arguments = read_arguments(config, recipe);
  if (!arguments) return tl::unexpected(arguments.error());
  ghost::Session session(device);
  session.mark(Phase::init, -1, 0);
  torch::TrainRun run;
  {
    Program program(*arguments, Places(*arguments).of(rank));
    run.statics = program.run();
    if (session.error) return tl::unexpected(*session.error);
    session.finished = true;
    run.tape = std::move(session.tape);
  }
  return run;
}

}  // namespace memtape::megatron
