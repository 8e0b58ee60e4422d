// SPDX-License-Identifier: Apache-2.0
// Every optimizer's step, event for event, as recorded (tests/truth/torch_optimizers): parameters
// of several dtypes, ranks and sizes, one that joins late, float16 loss scaling, and reductions
// past 2^31 bytes.
#include "framework/torch/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "framework/torch/clip_grad.h"
#include "framework/torch/grad_scaler.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"
#include "workload/read_recipe.h"

namespace memtape::torch {
namespace {

using ghost::Dims;
using ghost::Tensor;

struct Shape {
  DType dtype;
  Dims sizes;
};

constexpr DType kFloat = DType::float32, kHalf = DType::bfloat16;

const std::map<std::string, std::vector<Shape>>& parameter_lists() {
  static const std::map<std::string, std::vector<Shape>> lists{
      {"mixed",
       {{kHalf, {70000, 512}},
        {kFloat, {512}},
        {kFloat, {3, 128, 96}},
        {kHalf, {96, 701}},
        {kHalf, {1000}},
        {kFloat, {33, 8192}}}},
      {"vectors-first", {{kFloat, {130}}, {kHalf, {65537}}, {kFloat, {5, 7}}, {kHalf, {4, 2}}}},
      {"plain", {{kFloat, {20000, 1030}}, {kFloat, {7}}, {kFloat, {1, 300000}}}},
      {"huge", {{kHalf, {300000, 4096}}, {kHalf, {4096}}}},
  };
  return lists;
}

/// What happens between two allocations is a set: the order of frees among themselves does not
/// matter.
struct Moment {
  std::vector<std::int64_t> freed;
  Bytes allocated = 0;
  bool operator==(const Moment&) const = default;
  friend void PrintTo(const Moment& m, std::ostream* out) {
    *out << "frees " << ::testing::PrintToString(m.freed) << " then allocates " << m.allocated;
  }
};

class Events {
 public:
  void allocate(Bytes bytes) {
    moments_.back().allocated = bytes;
    moments_.emplace_back();
  }
  void free(std::int64_t which) {
    auto& freed = moments_.back().freed;
    freed.insert(std::upper_bound(freed.begin(), freed.end(), which), which);
  }
  const std::vector<Moment>& moments() const { return moments_; }

 private:
  std::vector<Moment> moments_{1};
};

struct Case {
  std::string optimizer, form, parameters, scaling;
  Bytes state_bytes = 0;
  Events events;
  std::string name() const { return optimizer + " " + form + " " + parameters + " " + scaling; }
};

std::vector<Case> recorded_cases() {
  std::ifstream file(MEMTAPE_TEST_DIR "/truth/torch_optimizers/steps.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::int64_t n = 0;
    words >> kind;
    if (kind == "case") {
      Case& next = cases.emplace_back();
      words >> next.optimizer >> next.form >> next.parameters >> next.scaling >> next.state_bytes;
    } else if (words >> n) {
      kind == "+" ? cases.back().events.allocate(n) : cases.back().events.free(n);
    }
  }
  return cases;
}

TensorList make_parameters(const std::vector<Shape>& shapes) {
  TensorList parameters;
  for (const Shape& shape : shapes) {
    parameters.push_back(ghost::empty(shape.sizes, shape.dtype, Category::parameter));
    parameters.back().impl().requires_grad = true;
  }
  return parameters;
}

void step_once(Optimizer& optimizer, GradScaler* scaler, const Places& with_gradient) {
  for (std::size_t place : with_gradient) {
    const Tensor& parameter = optimizer.parameters()[place];
    parameter.impl().grad = ghost::empty_like(parameter, parameter.dtype()).ptr();
  }
  if (scaler) {
    const Tensor loss = ghost::zeros({}, kFloat);
    scaler->scale(loss);
  }
  if (scaler) scaler->unscale(optimizer);
  clip_grad_norm(optimizer.parameters());
  if (scaler) {
    scaler->step(optimizer);
    scaler->update();
  } else {
    optimizer.step();
  }
  optimizer.zero_grad();
}

Events events_since(const Tape& tape, std::size_t event, BlockId first_block) {
  Events events;
  for (; event < tape.events.size(); ++event) {
    const Event& e = tape.events[event];
    if (e.kind == EventKind::alloc) events.allocate(tape.requested[e.block]);
    if (e.kind == EventKind::free)
      events.free(static_cast<std::int64_t>(e.block) - static_cast<std::int64_t>(first_block));
  }
  return events;
}

TrainRecipe recipe_of(const Case& c) {
  const std::vector<NamedValue> options{{"optimizer", c.optimizer}, {"optimizer-impl", c.form}};
  static const Framework kPlain{.name = "torch", .summary = "the plain loop"};
  static const Framework* const kKnown[]{&kPlain};
  return train_recipe(options, kKnown).value();
}

Places all_but_late(const Case& c, std::size_t count, int step) {
  Places places;
  const bool joins_late = count > 3 && !(c.optimizer == "sgd-momentum" && c.form == "fused");
  for (std::size_t place = 0; place < count; ++place)
    if (step > 0 || place != 2 || !joins_late) places.push_back(place);
  return places;
}

class RecordedStep : public ::testing::TestWithParam<Case> {};

TEST_P(RecordedStep, IsTheSameEventForEvent) {
  const Case& c = GetParam();
  ghost::Session session({});
  ghost::use_cublas();  // its workspace was there before
  TensorList parameters = make_parameters(parameter_lists().at(c.parameters));
  const std::size_t event = session.tape.events.size(), count = parameters.size();
  const auto first_block = static_cast<BlockId>(session.tape.requested.size());
  const std::unique_ptr<Optimizer> optimizer = make_optimizer(recipe_of(c), std::move(parameters));
  GradScaler scaler;
  for (int step = 0; step < 2; ++step)
    step_once(*optimizer, c.scaling == "scaled" ? &scaler : nullptr, all_but_late(c, count, step));
  EXPECT_EQ(events_since(session.tape, event, first_block).moments(), c.events.moments());
  EXPECT_EQ(optimizer->state_bytes(), c.state_bytes);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, RecordedStep, ::testing::ValuesIn(recorded_cases()),
                         [](const auto& made) {
                           std::string name = made.param.name();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char ch) { return ch == ' ' || ch == '-'; }, '_');
                           return name;
                         });

TEST(RecordedSteps, AreAllThere) { EXPECT_EQ(recorded_cases().size(), 37u); }

TEST(CheckOptimizer, NamesTheFormsThereAre) {
  EXPECT_TRUE(check_optimizer(OptimizerName::sgd, OptimizerImpl::fused));
  EXPECT_TRUE(check_optimizer(OptimizerName::adagrad, OptimizerImpl::foreach));
  const Result<void> fused_adagrad = check_optimizer(OptimizerName::adagrad, OptimizerImpl::fused);
  ASSERT_FALSE(fused_adagrad);
  EXPECT_THAT(fused_adagrad.error().line(), ::testing::HasSubstr("foreach or for-loop"));
}

TEST(GradScaler, RefusesHalfGradients) {
  ghost::Session session({});
  const std::unique_ptr<Optimizer> optimizer = make_optimizer({}, make_parameters({{kHalf, {8}}}));
  GradScaler scaler;
  scaler.scale(ghost::zeros({}, kFloat));
  step_once(*optimizer, &scaler, {0});
  ASSERT_TRUE(session.error);
  EXPECT_THAT(session.error->line(), ::testing::HasSubstr("16 bits"));
}

TEST(MakeOptimizer, WantsParameters) {
  ghost::Session session({});
  make_optimizer({}, {});
  EXPECT_TRUE(session.error);
}

}  // namespace
}  // namespace memtape::torch
