// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/pretrain.h"

#include <array>
#include <map>

#include "framework/megatron/bert_model.h"
#include "framework/megatron/gpt_model.h"
#include "framework/megatron/optimizer.h"
#include "framework/megatron/schedules.h"
#include "framework/megatron/t5_model.h"
#include "mesh/layout.h"

namespace memtape::megatron {
namespace {

/// Where a rank stands (RankGenerator of megatron/core/parallel_state.py): by default tensor,
/// context, data, pipeline from the fastest to the slowest.
struct Place {
  std::int64_t pp = 0, tp = 0;
  std::array<std::int64_t, 2> shard{};  ///< of the dense and of the experts' buffers
};

Place place_of(const Arguments& a, std::int64_t rank) {
  const Layout dense({{"pp", a.pp}, {"dp", a.dp}, {"cp", a.cp}, {"tp", a.tp}});
  const std::int64_t expert_dp = a.gpus / (a.etp * a.ep * a.pp);
  const Layout expert({{"pp", a.pp}, {"dp", expert_dp}, {"ep", a.ep}, {"tp", a.etp}});
  Place place;
  place.pp = dense.coordinate(rank, "pp");
  place.tp = dense.coordinate(rank, "tp");
  const std::int64_t replicas = a.dp * a.cp / a.num_distributed_optimizer_instances;
  place.shard[0] = (dense.coordinate(rank, "cp") + a.cp * dense.coordinate(rank, "dp")) %
                   std::max<std::int64_t>(1, replicas);
  place.shard[1] = expert.coordinate(rank, "dp") %
                   std::max<std::int64_t>(1, expert_dp / a.num_distributed_optimizer_instances);
  return place;
}

/// The chunks of pipeline rank `pp`: virtual stage v of it is stage v * pp_size + pp of the model.
std::vector<ChunkPlace> chunks_of(const Arguments& a, std::int64_t pp) {
  std::vector<ChunkPlace> places;
  std::int64_t layer = 0;
  for (std::int64_t v = 0; v < a.vpp; ++v)
    for (std::int64_t rank = 0; rank < a.pp; ++rank) {
      const std::int64_t layers =
          a.stage_layers[static_cast<std::size_t>(rank)][static_cast<std::size_t>(v)];
      if (rank == pp)
        places.push_back({.first_layer = layer,
                          .layers = layers,
                          .first = rank == 0 && v == 0,
                          .last = rank == a.pp - 1 && v == a.vpp - 1});
      layer += layers;
    }
  return places;
}

/// model_provider of the program.
std::unique_ptr<StageModel> make_model(Rank& rank, const ChunkPlace& place) {
  if (rank.a.program == "pretrain_bert.py") return std::make_unique<BertModel>(rank, place);
  if (rank.a.program == "pretrain_t5.py") return std::make_unique<T5Model>(rank, place);
  return std::make_unique<GptModel>(rank, place);
}

/// The parameters of a chunk as DDP and the optimizer tell them apart.
std::vector<Parameter> parameters_of(const Arguments& a, StageModel& chunk) {
  std::vector<Parameter> parameters;
  for (const nn::ModuleNode::Named& named : nn::named_parameters(chunk.root())) {
    const std::string& name = named.name;
    const bool embedding =
        name.ends_with("word_embeddings.weight") || name == "output_layer.weight";
    parameters.push_back({.tensor = named.tensor,
                          .expert = a.ep > 1 && name.find(".experts.") != std::string::npos,
                          .shared_embedding = embedding && a.tied() && a.pp > 1,
                          .copy = name == "output_layer.weight" && a.tied() && a.pp > 1,
                          .decays = named.tensor.dim() > 1 && !name.ends_with("bias")});
  }
  return parameters;
}

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

  torch::StaticBytes run() {
    Schedule schedule(rank_, chunks_, place_.pp);
    MegatronOptimizer optimizer(a_, buffers_, place_.shard);
    for (int step = 0; step < torch::kSteps; ++step) {
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
    std::vector<std::vector<Parameter>> parameters;
    for (const ChunkPlace& place : chunks_of(a_, place_.pp)) {
      chunks_.push_back(make_model(rank_, place));
      parameters.push_back(parameters_of(a_, *chunks_.back()));
    }
    const ghost::StreamGuard side(ddp_stream());
    for (std::size_t i = 0; i < parameters.size(); ++i)
      for (ParamAndGradBuffer& buffer : make_buffers(a_, std::move(parameters[i]), i == 0))
        buffers_.push_back(std::move(buffer));
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
    Program program(*arguments, place_of(*arguments, rank));
    run.statics = program.run();
    if (session.error) return tl::unexpected(*session.error);
    session.finished = true;
    run.tape = std::move(session.tape);
  }
  return run;
}

Result<std::vector<torch::RankClass>> rank_classes(const Config& config,
                                                   const TrainRecipe& recipe) {
  const Result<Arguments> arguments = read_arguments(config, recipe);
  if (!arguments) return tl::unexpected(arguments.error());
  std::map<std::array<std::int64_t, 4>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < arguments->gpus; ++rank) {
    const Place place = place_of(*arguments, rank);
    const bool sharded = arguments->use_distributed_optimizer;
    torch::RankClass& alike =
        classes[{place.pp, sharded ? place.shard[0] : 0,
                 sharded && arguments->ep > 1 ? place.shard[1] : 0, place.tp == 0 ? 0 : 1}];
    alike.ranks.push_back(static_cast<int>(rank));
    alike.stage = static_cast<int>(place.pp);
  }
  std::vector<torch::RankClass> found;
  for (auto& [key, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::megatron
