// SPDX-License-Identifier: Apache-2.0
// A question about time of any bytes: it is refused with one line, or it is answered with finite
// figures in order.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "time/question.h"

namespace {

using namespace memtape::time;

void require(bool truth) {
  if (!truth) std::abort();
}

void require_range(const Seconds& s) {
  require(std::isfinite(s.mid) && s.low >= 0 && s.low <= s.mid && s.mid <= s.high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto question = read_time_question(text, "question");
  if (!question) {
    require(!question.error().what.empty());
    return 0;
  }
  // A small model stands for a name; a pipeline of many stages takes long and shows nothing new.
  constexpr std::string_view kModel =
      R"({"model_type": "qwen3_moe", "hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 100,
          "num_attention_heads": 4, "num_experts": 8, "num_experts_per_tok": 2})";
  const auto shape = shape_of(*question, kModel);
  const auto gpu = memtape::find_gpu(question->gpu);
  if (!shape || !gpu) return 0;
  const auto machine = machine_of(*gpu, question->machine);
  if (!machine) return 0;
  const StepClock clock(*shape, *machine);
  if (question->serves) {
    const ServeTime t = clock.serve(question->serve);
    require_range(t.ttft);
    require_range(t.tpot);
  } else if (question->train.pp * question->train.vpp <= 64) {
    require_range(clock.train(question->train).seconds);
  }
  return 0;
}
