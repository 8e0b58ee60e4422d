// SPDX-License-Identifier: Apache-2.0
// The plain PyTorch training loop: batch on the GPU, forward (under autocast for amp-*), loss,
// backward, clip, step, zero_grad(set_to_none=True). The measured step is the third of a fresh
// process, when all state exists.
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

/// From the second micro-batch on they are alike, gradients being there already; so many are run at
/// most.
inline constexpr std::int64_t kMostMicroBatches = 16;

/// Static sizes, counted as torch would from the live objects: each storage once.
struct StaticBytes {
  std::int64_t parameters = 0, trainable_parameters = 0;
  Bytes weight_bytes = 0;  ///< of the whole model; those below are this rank's
  Bytes parameter_bytes = 0, buffer_bytes = 0, optimizer_state_bytes = 0, gradient_bytes = 0;
  Bytes managed_bytes = 0;  ///< optimizer states in managed memory, which torch does not count
};

struct TrainRun {
  Tape tape;
  StaticBytes statics;
  bool layers_differ = false;  ///< layers taken for equal were not: the run is void
  bool is_pipeline = false;    ///< forwards and backwards take turns: one phase, the schedule
};

/// Whether equal layers may be written down instead of run (ghost/autograd/equal_layers.h). The
/// tape is the same.
enum class EqualLayerRuns { written_down, all_run };

/// Runs `program(runs)` with equal layers written down and, where they turn out to differ, once
/// more with every layer run.
template <class Program>
auto run_equal_layers(const Program& program) {
  auto run = program(EqualLayerRuns::written_down);
  if (run && run->layers_differ) return program(EqualLayerRuns::all_run);
  return run;
}

/// Ranks that run the same program on the same sizes, so that one of them stands for all.
struct RankClass {
  std::vector<int> ranks;
  int stage = 0;  ///< of the pipeline
};

/// The model as the loop drives it: bare, or wrapped by a framework that spreads it over GPUs.
class DrivenModel {
 public:
  explicit DrivenModel(family::PretrainedModel& model) : model_(model) {}
  virtual ~DrivenModel() = default;
  DrivenModel(const DrivenModel&) = delete;
  DrivenModel& operator=(const DrivenModel&) = delete;

  const family::PretrainedModel& model() const { return model_; }
  /// What the optimizer is given.
  virtual std::vector<ghost::Tensor> parameters();
  /// The wrapped module's own forward, or what a program has put in its place.
  using Forward = std::function<family::ModelOutput(const family::Batch&)>;
  /// The tensors of a module's output, in its order.
  using Outputs = std::vector<ghost::Tensor*>;
  /// model(...), whatever it gives: `module`, and the wrapper's work before and after it.
  virtual void call(const std::function<Outputs()>& module) { module(); }
  /// The dtype in which `module` sees what a batch holds with floating point.
  virtual std::optional<DType> casts_inputs_to() const { return {}; }
  /// model(**batch)
  family::ModelOutput forward(const Forward& module, const family::Batch& batch);
  virtual ghost::Tensor loss_of(const family::Batch& batch);
  /// The optimizer over parameters().
  virtual std::unique_ptr<Optimizer> make_optimizer(const TrainRecipe& recipe);
  /// What the program does to its optimizer once it is made.
  virtual void set_up(Optimizer&) {}
  /// Before each micro-batch: whether its gradients are to be shared with the other ranks.
  virtual void set_gradient_sync(bool) {}
  /// The norm of all gradients, by which they have been scaled.
  virtual ghost::Tensor clip_grad_norm(const std::vector<ghost::Tensor>& parameters);
  /// Whether parameters and gradients are offloaded: the optimizer then works in host memory.
  virtual bool updates_on_host() const { return false; }
  virtual StaticBytes statics();

 protected:
  family::PretrainedModel& model_;
};

/// What differs between loops as people write them.
struct LoopHabits {
  bool labels_are_inputs = false;  ///< labels=input_ids, and the batch goes with its micro-batch
  bool keeps_batch = false;        ///< until the next takes its place, not until the step's end
  bool keeps_losses = false;       ///< of every micro-batch, until the step's end
  bool empties_cache = false;      ///< torch.cuda.empty_cache() once the model is wrapped
  bool steps_differ = false;       ///< a step does what was seen in the one before: all are run
};

/// kSteps steps of the recipe; gives the static sizes at the end of the last.
StaticBytes run_steps(const TrainRecipe& recipe, DrivenModel& model, const LoopHabits& habits);

/// Builds the model, wraps it, by which it comes to the GPU from where it was made, gives back what
/// that left cached, and runs kSteps steps of it as distributed programs do.
using Wrap = std::function<std::unique_ptr<DrivenModel>(family::PretrainedModel&)>;
Result<TrainRun> run_wrapped(const Config& config, const TrainRecipe& recipe,
                             const ghost::DeviceTraits& device, const Wrap& wrap,
                             bool steps_differ = false);

/// Runs the whole program on ghost tensors: builds the model, makes kSteps steps, and returns its
/// tape. Marks divide it.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device);
/// The same, in one way or the other.
Result<TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                              const ghost::DeviceTraits& device, EqualLayerRuns runs);

}  // namespace memtape::torch
