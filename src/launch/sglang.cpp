// SPDX-License-Identifier: Apache-2.0
// `python -m sglang.launch_server --model-path MODEL` and `sglang serve`: the same words as
// `memtape serve MODEL --engine sglang`.
#include "framework/sglang/serve.h"
#include "launch/programs.h"
#include "launch/serving.h"

namespace memtape::launch {
namespace {

/// With attention of its own, data ranks are ranks of the tensor group.
std::optional<std::int64_t> sglang_ranks(const ReadFlags& flags) {
  if (flags.has("enable-dp-attention")) return product_of(flags, {"tp-size", "pp-size"});
  return product_of(flags, {"tp-size", "pp-size", "dp-size"});
}

/// Of the batch sizes that are captured, the last is the largest.
bool take_sglang(const GivenFlag& given, Translation& translation) {
  if (given.flag->meaning != "cuda-graph-bs") return false;
  if (!given.values.empty()) translation.add("cuda-graph-max-bs", given.values.back());
  return true;
}

constexpr ServerProgram kSglang{.name = "sglang serve",
                                .engine = "sglang",
                                .named_model = "sglang serve --model-path MODEL",
                                .flags = served_flags<sglang::kEngine, data::sglang_flags>,
                                .ranks = sglang_ranks,
                                .take = take_sglang,
                                .prefix = "SGLANG_",
                                .environment = "SGLang's environment",
                                .variables = data::sglang_environment_flags};

}  // namespace

Result<Translation> translate_sglang(const LaunchCommand& command) {
  return translate_server(kSglang, command);
}

}  // namespace memtape::launch
