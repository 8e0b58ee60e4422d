// SPDX-License-Identifier: Apache-2.0
// The space of a framework: which axes it has, which values are worth trying on each, and what its
// program refuses. Candidates are built axis by axis, so that what an early axis refuses is never
// built further.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/workers.h"
#include "ghost/session.h"
#include "option/given.h"
#include "plan/candidate.h"
#include "plan/model_facts.h"
#include "plan/pins.h"
#include "predict/train_variants.h"

namespace memtape::plan {

/// What is trained and on which hardware: all that a space depends on.
struct Job {
  const Config& config;
  ModelFacts facts;
  TrainRecipe recipe;  ///< the framework's, without a layout
  Pins pins;
  std::int64_t gpus = 1, per_node = 8;
  std::optional<Bytes> host_bytes;  ///< host memory of a node, if the user's cluster names it
  std::int64_t global_batch = 1, sequence = 2048;
  Bytes device_bytes = 0;  ///< what programs can use of a GPU, without the CUDA context
  ghost::DeviceTraits device;
  NamedValues said;  ///< the options that are no axis, as the user gave them

  bool says(std::string_view option) const;
  /// The dtype of 16 bits in which the GPU's products run: bf16 since Ampere, fp16 before
  /// (torch.cuda.is_bf16_supported without emulation).
  std::string_view half() const { return device.at_least(8) ? "bf16" : "fp16"; }
};

class Space {
 public:
  explicit Space(const Job& job) : job_(job) {}
  virtual ~Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  /// The axes in the order in which they are decided.
  virtual std::span<const Axis> axes() const = 0;
  /// The values that are worth trying if the user has not decided, given what was decided before.
  virtual std::vector<std::int64_t> values(Axis axis, const Candidate& so_far) const = 0;
  /// Why the program would refuse the value of `axis`, which was decided last. It is "" if the
  /// program takes it.
  virtual std::string refuses(Axis axis, const Candidate& with) const = 0;
  /// The options that make the candidate, in the framework's own words.
  virtual NamedValues layout(const Candidate& candidate) const = 0;
  /// The same with more of it made again, which need less: where it lacks so many bytes, one of them
  /// may fit.
  virtual std::vector<Candidate> lighter(const Candidate&, double /*lacking*/) const { return {}; }
  /// What the layouts say, beside their sizes, of how the step is run.
  virtual NamedValues habits() const { return {}; }
  /// What the program can do and no candidate does, in words: "uneven stages"; or "".
  virtual std::string_view left_out() const { return {}; }
  /// Bytes that lie on the fullest GPU for certain, computed from sizes alone.
  virtual double floor(const Candidate& candidate) const = 0;
  /// The same bound from small runs, which take longer and give a tighter bound.
  virtual double close_floor(const Candidate& candidate) const { return floor(candidate); }
  /// Does side by side what the small runs of these candidates are.
  virtual void prepare(std::span<const Candidate>, const Workers&) const {}
  /// The stage of the pipeline that is likely the fullest, where that is known.
  virtual std::optional<int> likely_stage(const Candidate&) const { return {}; }
  /// A bound from small runs of where the bounds of what it needs end: if that is above the GPU's
  /// memory, it does not fit well.
  virtual double upper_floor(const Candidate& candidate) const { return close_floor(candidate); }

 protected:
  const Job& job_;
};

/// The space, or null if the framework has none.
std::unique_ptr<Space> space_of(const Job& job);

/// All candidates, and why there are no others.
struct Points {
  std::vector<Candidate> all;
  std::string deepest;  ///< why the candidate that came farthest was refused
  std::size_t depth = 0;
};
Points points_of(const Space& space, const Job& job);

/// The divisors of `whole` up to `most`, the smallest first.
std::vector<std::int64_t> divisors(std::int64_t whole, std::int64_t most);
/// The sizes of a micro-batch that the global batch allows, up to `most`.
std::vector<std::int64_t> micro_batches(const Job& job, const Candidate& so_far, std::int64_t most);
/// Why a micro-batch does not fit into the global batch; else "".
std::string refuses_batch(const Job& job, const Candidate& with);

}  // namespace memtape::plan
