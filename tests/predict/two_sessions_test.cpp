// SPDX-License-Identifier: Apache-2.0
// Two programs on two sessions, step by step in turn in one thread, leave the tapes that each
// leaves alone: what one hands down to its model (a cache, positions, packed rows, router logits)
// never reaches the other.
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "equal_tapes.h"
#include "family/caches/key_value_cache.h"
#include "family/masks/masking.h"
#include "family/parts/experts.h"
#include "family/parts/forward_arguments.h"
#include "family/registry.h"
#include "ghost/autograd/engine.h"
#include "ghost/ops/creation.h"
#include "ghost/trace.h"
#include "model/config.h"

namespace memtape {
namespace {

using ghost::Tensor;

constexpr const char* kLlama = R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 128,
  "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 256})";
constexpr const char* kMixtral = R"({"model_type": "mixtral", "vocab_size": 512, "hidden_size": 128,
  "intermediate_size": 256, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2,
  "num_local_experts": 4, "num_experts_per_tok": 2, "max_position_embeddings": 256, "output_router_logits": true})";

std::unique_ptr<family::PretrainedModel> build(const char* json) {
  const Config config = *Config::parse(json, "a small model");
  family::ModelOptions options;
  options.dtype = DType::bfloat16;
  return (*family::find_family(config, family::Task::causal_lm))->build(config, options);
}

/// A program in steps, each of which leaves something in force for the next.
class Program {
 public:
  virtual ~Program() = default;
  virtual void step(std::size_t number) = 0;
  static constexpr std::size_t kSteps = 8;

  ghost::Session session{ghost::DeviceTraits{}};
};

/// Reads a prompt, then token by token, with a cache that is in force between its passes.
class Decoding final : public Program {
 public:
  void step(std::size_t number) override {
    if (number == 0) {
      session.training = false;
      model_ = build(kLlama);
      return;
    }
    const bool is_pass = number % 2 == 0;
    const std::int64_t tokens = number < 3 ? 20 : 1;
    const ghost::GradMode no_grad(false);
    if (!is_pass) {
      arguments_.reset();
      arguments_.emplace(&cache_, ghost::zeros({1, tokens}, DType::int64), 1,
                         family::ForwardArguments::Stage::prefill);
      return;
    }
    family::Batch batch;
    batch.input_ids = ghost::zeros({1, tokens}, DType::int64);
    model_->forward(batch);
  }

 private:
  std::unique_ptr<family::PretrainedModel> model_;
  family::KeyValueCache cache_{family::KeyValueCache::Settings{.sliding_windows = {}, .layers = 3}};
  std::optional<family::ForwardArguments> arguments_;
};

/// Trains on packed rows; a trace listens, and the packing stays in force from forward to backward.
class Training final : public Program {
 public:
  void step(std::size_t number) override {
    if (number == 0) {
      model_ = build(kMixtral);
      for (const Tensor& parameter : nn::parameters(model_->tree.root()))
        parameter.impl().requires_grad = true;
      return;
    }
    switch (number % 3) {
      case 1:
        packed_.emplace();
        positions_.emplace(nullptr, ghost::zeros({2, 24}, DType::int64), 0,
                           family::ForwardArguments::Stage::prefill);
        return;
      case 2: {
        const ghost::Trace trace;
        family::Batch batch;
        batch.input_ids = ghost::zeros({2, 24}, DType::int64);
        batch.labels = ghost::zeros({2, 24}, DType::int64);
        loss_ = model_->forward(batch).loss;
        traced_ops = trace.ops.size();
        return;
      }
      default:
        ghost::backward(loss_);
        loss_.reset();
        positions_.reset();
        packed_.reset();
    }
  }

  std::size_t traced_ops = 0;

 private:
  std::unique_ptr<family::PretrainedModel> model_;
  std::optional<family::PackedSequences> packed_;
  std::optional<family::ForwardArguments> positions_;
  Tensor loss_;
};

struct Left {
  Tape tape;
  std::size_t traced_ops = 0;
};

/// Takes the tape; the program is torn down in its own session.
Left finish(std::unique_ptr<Program> program) {
  ghost::current_session = &program->session;
  EXPECT_FALSE(program->session.error.has_value());
  program->session.finished = true;
  Left left{std::move(program->session.tape)};
  if (const auto* training = dynamic_cast<const Training*>(program.get()))
    left.traced_ops = training->traced_ops;
  program.reset();
  ghost::current_session = nullptr;
  return left;
}

std::array<std::unique_ptr<Program>, 2> both() {
  std::array<std::unique_ptr<Program>, 2> programs;
  programs[0] = std::make_unique<Decoding>();
  ghost::current_session = nullptr;
  programs[1] = std::make_unique<Training>();
  return programs;
}

TEST(TwoSessions, InTurnInOneThreadLeaveTheTapesThatEachLeavesAlone) {
  std::array<std::unique_ptr<Program>, 2> in_turn = both(), alone = both();
  for (std::size_t step = 0; step < Program::kSteps; ++step)
    for (const auto& program : in_turn) {
      ghost::current_session = &program->session;
      program->step(step);
    }
  for (const auto& program : alone) {
    ghost::current_session = &program->session;
    for (std::size_t step = 0; step < Program::kSteps; ++step) program->step(step);
  }
  for (std::size_t i = 0; i < in_turn.size(); ++i) {
    const Left mixed = finish(std::move(in_turn[i])), single = finish(std::move(alone[i]));
    EXPECT_GT(mixed.tape.events.size(), 100U);
    EXPECT_EQ(mixed.traced_ops, single.traced_ops);
    expect_same(single.tape, mixed.tape);
  }
}

}  // namespace
}  // namespace memtape
