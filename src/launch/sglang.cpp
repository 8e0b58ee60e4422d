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

/// SGLang reads many variables more than those that are known.
Result<void> begin_sglang(const LaunchCommand& command, const ReadFlags&,
                          Translation& translation) {
  ReadFlags variables = read_variables(command, "SGLANG_", data::sglang_environment_flags().flags);
  variables.unknown.clear();
  add_flags(variables, translation);
  add_warnings(translation, variables, "SGLang's environment");
  return {};
}

}  // namespace

const ServerProgram kSglang{.name = "sglang serve",
                            .engine = "sglang",
                            .names_model = "--model-path MODEL",
                            .flags = served_flags<sglang::kEngine, data::sglang_flags>,
                            .ranks = sglang_ranks,
                            .begin = begin_sglang,
                            .take = take_sglang};

}  // namespace memtape::launch
