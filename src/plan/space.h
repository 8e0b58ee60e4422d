// SPDX-License-Identifier: Apache-2.0
// The space of a framework: which axes it has, what is worth trying on each, and what its program
// refuses. Points are made axis by axis, so that what an early axis refuses is never made.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ghost/session.h"
#include "plan/candidate.h"
#include "plan/model_facts.h"
#include "plan/pins.h"
#include "predict/train_variants.h"

namespace memtape::plan {

/// What is trained and on how much; all that spaces go by.
struct Job {
  const Config& config;
  ModelFacts facts;
  TrainRecipe recipe;  ///< of the framework, without a layout
  Pins pins;
  std::int64_t gpus = 1, per_node = 8;
  std::optional<Bytes> host_bytes;  ///< of a node, where the asker's cluster says so
  std::int64_t global_batch = 1, sequence = 2048;
  Bytes device_bytes = 0;  ///< that programs have, the context taken off
  ghost::DeviceTraits device;
  std::vector<NamedText> said;  ///< options that are no axis, as the asker gave them

  bool says(std::string_view option) const;
};

class Space {
 public:
  explicit Space(const Job& job) : job_(job) {}
  virtual ~Space() = default;
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  /// In the order in which they are decided.
  virtual std::span<const Axis> axes() const = 0;
  /// What is worth trying where nobody has decided, after what was decided so far.
  virtual std::vector<std::int64_t> values(Axis axis, const Candidate& so_far) const = 0;
  /// Why the program would refuse that value, decided last; "" where it takes it.
  virtual std::string refuses(Axis axis, const Candidate& with) const = 0;
  /// The options that make the candidate, in the framework's own words.
  virtual OptionChanges layout(const Candidate& candidate) const = 0;
  /// Bytes that surely lie on the fullest GPU, from sizes alone.
  virtual double floor(const Candidate& candidate) const = 0;
  /// The same from small runs, which take longer and say more.
  virtual double close_floor(const Candidate& candidate) const { return floor(candidate); }

 protected:
  const Job& job_;
};

/// Null where the framework has no space of plans.
std::unique_ptr<Space> space_of(const Job& job);

/// All points, and why others are none.
struct Points {
  std::vector<Candidate> all;
  std::string deepest;  ///< why the point that came farthest was refused
  std::size_t depth = 0;
};
Points points_of(const Space& space, const Job& job);

/// 1, 2, 4 ... up to `most`.
std::vector<std::int64_t> powers_of_two(std::int64_t most);
/// Sequences of a micro-batch that a global batch allows, up to `most`.
std::vector<std::int64_t> micro_batches(const Job& job, const Candidate& so_far, std::int64_t most);
/// Why a micro-batch does not go into the global batch.
std::string refuses_batch(const Job& job, const Candidate& with);

}  // namespace memtape::plan
