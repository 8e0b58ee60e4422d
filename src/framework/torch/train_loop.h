// SPDX-License-Identifier: Apache-2.0
// The plain PyTorch training loop: the batch on the GPU, forward (under autocast for amp-*), loss,
// backward, clip, step, zero_grad(set_to_none=True). The measured step is the third one of a fresh
// process, when all states exist.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "ghost/session.h"
#include "workload/train_recipe.h"

namespace memtape::torch {

class Optimizer;

inline constexpr int kSteps = 3;

/// From the second micro-batch on all micro-batches are alike, because the gradients exist. So no
/// more than this number are run.
inline constexpr std::int64_t kMostMicroBatches = 16;

/// Static sizes, counted as torch would count the live objects, with each storage once.
struct StaticBytes {
  std::int64_t parameters = 0, trainable_parameters = 0;
  Bytes weight_bytes = 0;  ///< that of the whole model; the sizes below are this rank's
  Bytes parameter_bytes = 0, buffer_bytes = 0, optimizer_state_bytes = 0, gradient_bytes = 0;
  Bytes managed_bytes = 0;  ///< optimizer states in managed memory, which torch does not count
};

struct TrainRun {
  Tape tape;
  StaticBytes statics;
  /// Layers that were assumed to be equal differ, so the run is not valid.
  bool layers_differ = false;
  /// Forwards and backwards alternate, so the whole schedule is one phase.
  bool is_pipeline = false;
  /// Rounds of the schedule that ask for what the ones before them asked for, and are left out.
  std::int64_t rounds_not_followed = 0;
};

/// Whether equal layers may be written down instead of run (ghost/autograd/equal_layers.h). The
/// tape is the same in both cases.
enum class EqualLayerRuns { written_down, all_run };

/// Runs `program(runs)` with equal layers written down. If they turn out to differ, it runs again
/// with every layer run.
template <class Program>
auto run_equal_layers(const Program& program) {
  auto run = program(EqualLayerRuns::written_down);
  if (run && run->layers_differ) return program(EqualLayerRuns::all_run);
  return run;
}

/// Ranks that run the same program on the same sizes, so that one of them represents all.
struct RankClass {
  std::vector<int> ranks;
  int stage = 0;  ///< the stage of the pipeline
  /// Classes of one number here run the same layers and differ in how much is in flight at once, or
  /// in how the optimizer's shards are cut. The one with less in flight never holds more at the
  /// same turn of its schedule.
  int layers_alike = 0;
  std::int64_t in_flight = 0;  ///< passes begun before the first backward
};

/// The model as the loop runs it, either bare or wrapped by a framework that spreads it over GPUs.
class DrivenModel {
 public:
  explicit DrivenModel(family::PretrainedModel& model) : model_(model) {}
  virtual ~DrivenModel() = default;
  DrivenModel(const DrivenModel&) = delete;
  DrivenModel& operator=(const DrivenModel&) = delete;

  const family::PretrainedModel& model() const { return model_; }
  /// The parameters that are handed to the optimizer.
  virtual std::vector<ghost::Tensor> parameters();
  /// The wrapped module's own forward, or what a program has replaced it with.
  using Forward = std::function<family::ModelOutput(const family::Batch&)>;
  /// The tensors of a module's output, in order.
  using Outputs = std::vector<ghost::Tensor*>;
  /// model(...), whatever it returns: `module`, with the wrapper's work before and after it.
  virtual void call(const std::function<Outputs()>& module) { module(); }
  /// The part of a batch that `module` sees.
  virtual family::Batch scattered(const family::Batch& batch) const { return batch; }
  /// The dtype in which `module` sees the floating point tensors of a batch.
  virtual std::optional<DType> casts_inputs_to() const { return {}; }
  /// model(**batch)
  family::ModelOutput forward(const Forward& module, const family::Batch& batch);
  virtual ghost::Tensor loss_of(const family::Batch& batch);
  /// Makes the optimizer over parameters().
  virtual std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe);
  /// What the program does to its optimizer once it is made.
  virtual void set_up(Optimizer&) {}
  /// Called before each micro-batch. It says whether the gradients of that micro-batch will be
  /// shared with the other ranks.
  virtual void set_gradient_sync(bool) {}
  /// Scales all gradients by their norm, and returns the norm.
  virtual ghost::Tensor clip_grad_norm(const std::vector<ghost::Tensor>& parameters);
  /// Whether parameters and gradients are offloaded, so that the optimizer works in host memory.
  virtual bool updates_on_host() const { return false; }
  virtual StaticBytes statics();

 protected:
  family::PretrainedModel& model_;
};

/// In what the loops that people write differ.
struct LoopHabits {
  /// Labels=input_ids, and the batch is dropped with its micro-batch.
  bool labels_are_inputs = false;
  /// The batch lives until the next one replaces it, not until the step's end.
  bool keeps_batch = false;
  bool keeps_losses = false;   ///< the losses of all micro-batches live until the step's end
  bool empties_cache = false;  ///< torch.cuda.empty_cache() once the model is wrapped
  bool steps_differ = false;   ///< a step depends on the one before, so all steps are run
};

/// Runs kSteps steps of the recipe. It returns the static sizes at the end of the last one.
StaticBytes run_steps(const TrainRecipe& recipe, DrivenModel& model, const LoopHabits& habits);

/// Builds the model and wraps it, which moves it to the GPU from where it was made; then gives back
/// what that left in the cache, and runs kSteps steps as distributed programs do.
using Wrap = std::function<std::unique_ptr<DrivenModel>(family::PretrainedModel&)>;
Result<TrainRun> run_wrapped(const Config& config, const TrainRecipe& recipe,
                             const ghost::DeviceTraits& device, const Wrap& wrap,
                             bool steps_differ = false);

/// Runs the whole program on ghost tensors: it builds the model, runs kSteps steps, and returns the
/// tape, which is divided by marks.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device);
/// The same, with equal layers run in the given way.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device, EqualLayerRuns runs);

}  // namespace memtape::torch
