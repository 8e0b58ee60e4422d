// SPDX-License-Identifier: Apache-2.0
// Small spaces, point by point: whatever fits and is faster by the tool's own estimate, the search
// has found. The points are those of every size that a program takes, not those that the search
// tries: sizes that are no powers of two, long rings of short pieces, batches of any divisor.
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <numeric>

#include "answer/handed.h"
#include "answer/plan_question.h"
#include "framework/dialects.h"

namespace memtape::plan {
namespace {

constexpr const char* kDense = R"({"model_type": "llama", "hidden_size": 1536,
  "intermediate_size": 4608, "num_hidden_layers": 8, "num_attention_heads": 12,
  "num_key_value_heads": 6, "vocab_size": 32000, "max_position_embeddings": 16384,
  "rms_norm_eps": 1e-5, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";
constexpr const char* kMixture = R"({"model_type": "qwen3_moe", "hidden_size": 1024,
  "intermediate_size": 3072, "moe_intermediate_size": 512, "num_hidden_layers": 4,
  "num_attention_heads": 16, "num_key_value_heads": 4, "head_dim": 64, "num_experts": 12,
  "num_experts_per_tok": 2, "norm_topk_prob": true, "decoder_sparse_step": 1,
  "mlp_only_layers": [], "vocab_size": 32000, "max_position_embeddings": 16384,
  "rms_norm_eps": 1e-6, "tie_word_embeddings": false, "torch_dtype": "bfloat16"})";

/// Four layers of experts after two dense ones, latent attention, a shared expert.
constexpr const char* kLatent = R"({"model_type": "deepseek_v3", "hidden_size": 1024,
  "intermediate_size": 3072, "moe_intermediate_size": 512, "num_hidden_layers": 6,
  "first_k_dense_replace": 2, "num_attention_heads": 8, "num_key_value_heads": 8,
  "vocab_size": 32000, "n_routed_experts": 8, "num_experts_per_tok": 2, "n_shared_experts": 1,
  "n_group": 2, "topk_group": 1, "q_lora_rank": 256, "kv_lora_rank": 128,
  "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64,
  "max_position_embeddings": 16384, "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16"})";

/// Windows of every other layer, sinks in their attention, biases, experts that are clamped.
constexpr const char* kSinks = R"({"model_type": "gpt_oss", "hidden_size": 1024,
  "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 16,
  "num_key_value_heads": 4, "head_dim": 64, "num_local_experts": 8, "num_experts_per_tok": 2,
  "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention",
  "sliding_attention", "full_attention"], "vocab_size": 32000,
  "max_position_embeddings": 16384, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16"})";

struct SmallSpace {
  const char* framework;
  const char* config;
  int gpus;
  int global_batch, sequence;
  Bytes memory;
  const char* gpu = "h100-80gb";
};

std::string name_of(const testing::TestParamInfo<SmallSpace>& info) {
  std::string name = fmt::format("{}{}On{}{}With{}", info.param.framework,
                                 info.param.config == kDense    ? ""
                                 : info.param.config == kLatent ? "Latent"
                                 : info.param.config == kSinks  ? "Sinks"
                                                                : "Mixture",
                                 info.param.gpus, info.param.gpu, info.param.memory >> 20);
  std::erase(name, '-');
  return name;
}

std::vector<std::int64_t> up_to(std::int64_t most) {
  std::vector<std::int64_t> found(static_cast<std::size_t>(most));
  std::iota(found.begin(), found.end(), 1);
  return found;
}

/// All values of the axes that a program has; the method and the optimizer are those of training
/// all weights.
Pins every_value(const Field& field) {
  Pins pins;
  for (const Axis axis : field.space->axes()) switch (axis) {
      case Axis::tp:
      case Axis::cp:
      case Axis::pp:
      case Axis::ep:
      case Axis::etp: pins.set(axis, up_to(field.job->gpus)); break;
      case Axis::vpp: pins.set(axis, up_to(field.job->facts.layers + 2)); break;
      case Axis::micro_batch: pins.set(axis, up_to(field.job->global_batch)); break;
      case Axis::sharding: pins.set(axis, {0, 1, 2, 3, 4, 5}); break;
      case Axis::offload: pins.set(axis, {0, 1, 2}); break;
      case Axis::checkpointing: pins.set(axis, {0, 1, 2, 3, 4}); break;
      case Axis::modules: pins.set(axis, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}); break;
      case Axis::layers: {
        std::vector<std::int64_t> some = up_to(field.job->facts.layers);
        some.insert(some.begin(), 0);
        pins.set(axis, std::move(some));
        break;
      }
      case Axis::method:
      case Axis::optim: pins.set(axis, {0}); break;
      default: break;
    }
  return pins;
}

class SmallSpaces : public testing::TestWithParam<SmallSpace> {
 protected:
  answer::RawOptions options() const {
    const SmallSpace& s = GetParam();
    answer::RawOptions raw;
    raw.model = "config.json";
    raw.values = {{"gpu", s.gpu},
                  {"framework", s.framework},
                  {"gpus", fmt::format("{}", s.gpus)},
                  {"gpus-per-node", "4"},
                  {"gpu-memory-bytes", fmt::format("{}", s.memory)},
                  {"global-batch-size", fmt::format("{}", s.global_batch)},
                  {"sequence-length", fmt::format("{}", s.sequence)},
                  {"top", "1"}};
    return raw;
  }
};

TEST_P(SmallSpaces, HoldNothingFasterThanWhatIsFound) {
  const answer::Handed outside({}, GetParam().config, {}, {});
  const Config config = *Config::parse(GetParam().config, "config.json");
  auto question = answer::plan_question(options(), config, outside);
  ASSERT_TRUE(question) << question.error().line();
  const ModelRequest model{.id = "small", .config = config};
  const auto found = search_plans(question->fields, model, question->device, question->search);
  ASSERT_TRUE(found) << found.error().line();
  const Confirmation confirmation(model, question->device, {});
  std::size_t points = 0;
  for (const Field& field : question->fields) {
    field.job->pins = every_value(field);
    const Points every = points_of(*field.space, *field.job);
    points += every.all.size();
    for (const Candidate& c : every.all) {
      const double seconds = field.clock->seconds(c);
      const bool is_faster = found->plans.empty() || !found->plans.front().fits_well() ||
                             seconds < 0.9999 * found->plans.front().step_seconds.mid;
      if (!is_faster) continue;
      const auto exactly = confirmation.all_ranks(field.reading, field.space->layout(c));
      if (!exactly) continue;  // the program refuses it
      const bool fits_well = exactly->verdict == VerdictWord::fits &&
                             exactly->within_limit_bytes == exactly->peak_device_bytes;
      EXPECT_FALSE(fits_well && exactly->fits)
          << in_words(c) << " takes " << seconds << " s with " << exactly->peak_device_bytes
          << " bytes; found was "
          << (found->plans.empty()
                  ? "nothing"
                  : found->plans.front().words +
                        fmt::format(": {} s", found->plans.front().step_seconds.mid));
    }
  }
  EXPECT_GT(points, 20U);
}

/// What an answer says, in words.
std::string said_by(const PlanAnswer& answer) {
  std::string said = fmt::format("{} screened, {} bounded, {} run\n", answer.screened,
                                 answer.bounded, answer.confirmed);
  for (const PlanRow& plan : answer.plans)
    said += fmt::format("{}: {} s, {} bytes on rank {}\n", plan.words, plan.step_seconds.mid,
                        plan.peak_device_bytes.value_or(0), plan.peak_rank);
  for (const WhyNot& other : answer.why_not)
    said += fmt::format("not {}: {} bytes on rank {}\n", other.plan.words, other.missing_bytes,
                        other.rank);
  return said;
}

TEST_P(SmallSpaces, AreAnsweredAlikeByAnyNumberOfWorkers) {
  const answer::Handed outside({}, GetParam().config, {}, {});
  const Config config = *Config::parse(GetParam().config, "config.json");
  const ModelRequest model{.id = "small", .config = config};
  std::string by_one;
  for (const std::size_t count : {1, 2, 7}) {
    auto raw = options();
    raw.values.back().second = "4";
    auto question = answer::plan_question(raw, config, outside);
    ASSERT_TRUE(question) << question.error().line();
    question->search.workers = {count, [count](std::size_t pieces, const Workers::Work& work) {
                                  for (std::size_t piece = 0; piece < pieces; ++piece)
                                    work(piece % count, piece);
                                }};
    const auto found = search_plans(question->fields, model, question->device, question->search);
    ASSERT_TRUE(found) << found.error().line();
    if (count == 1) by_one = said_by(*found);
    EXPECT_EQ(said_by(*found), by_one) << count << " workers";
  }
}

constexpr Bytes operator""_MB(unsigned long long n) { return static_cast<Bytes>(n) << 20; }

INSTANTIATE_TEST_SUITE_P(
    All, SmallSpaces,
    testing::Values(SmallSpace{"megatron-core", kDense, 4, 8, 8192, 6500_MB},
                    SmallSpace{"megatron-core", kDense, 6, 12, 2048, 5000_MB},
                    SmallSpace{"megatron-core", kMixture, 4, 8, 4096, 7000_MB},
                    SmallSpace{"megatron-core", kMixture, 6, 6, 2048, 5000_MB},
                    SmallSpace{"megatron-core", kLatent, 4, 4, 4096, 4000_MB},
                    SmallSpace{"megatron-core", kLatent, 4, 4, 16384, 5000_MB},
                    SmallSpace{"torchtitan", kDense, 8, 24, 8192, 6000_MB},
                    SmallSpace{"fsdp2", kDense, 8, 48, 4096, 4000_MB},
                    SmallSpace{"fsdp2", kDense, 6, 48, 4096, 16000_MB},
                    SmallSpace{"fsdp1", kDense, 8, 48, 4096, 4000_MB},
                    SmallSpace{"deepspeed", kDense, 4, 8, 4096, 6000_MB},
                    SmallSpace{"ddp", kDense, 6, 48, 2048, 16000_MB},
                    SmallSpace{"transformers", kDense, 8, 48, 4096, 16000_MB},
                    SmallSpace{"megatron-core", kDense, 4, 8, 8192, 6500_MB, "l40s"},
                    SmallSpace{"megatron-core", kMixture, 4, 8, 4096, 7000_MB, "l40s"},
                    SmallSpace{"megatron-core", kMixture, 4, 4, 8192, 6000_MB, "h200-141gb"},
                    SmallSpace{"megatron-core", kSinks, 4, 8, 4096, 5000_MB, "h200-141gb"},
                    SmallSpace{"megatron-core", kLatent, 4, 4, 4096, 4000_MB, "a100-80gb"},
                    SmallSpace{"torchtitan", kDense, 4, 12, 4096, 6000_MB, "l40s"},
                    SmallSpace{"torchtitan", kMixture, 4, 8, 4096, 6000_MB, "h200-141gb"},
                    SmallSpace{"fsdp2", kMixture, 4, 16, 4096, 5000_MB, "l40s"},
                    SmallSpace{"deepspeed", kMixture, 4, 8, 4096, 6000_MB, "h200-141gb"},
                    SmallSpace{"ddp", kMixture, 6, 48, 2048, 16000_MB, "b200-180gb"},
                    SmallSpace{"transformers", kDense, 4, 16, 4096, 16000_MB, "l40s"}),
    name_of);

}  // namespace
}  // namespace memtape::plan
