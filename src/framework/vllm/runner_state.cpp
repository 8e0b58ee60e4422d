// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/runner_state.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {

RunnerState::RunnerState(const Settings& settings) {
  const std::int64_t requests = settings.max_num_seqs, tokens = settings.max_num_batched_tokens;
  const auto keep = [&](const Dims& sizes, DType dtype) {
    kept_.push_back(kernel_output("zeros", sizes, dtype));
  };
  // RequestState: total_len, num_computed_tokens, last_sampled_tokens, next_prefill_tokens.
  keep({requests}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests, 1}, DType::int64);
  keep({1, requests}, DType::int32);
  // InputBuffers.
  input_ids_ = kernel_output("zeros", {tokens}, DType::int32);
  positions_ = kernel_output("zeros", {tokens}, DType::int64);
  keep({tokens}, DType::boolean);
  keep({requests + 1}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests}, DType::int32);
}

SamplerState::SamplerState(const Settings& settings, std::int64_t vocabulary) {
  constexpr std::int64_t kAllowedTokens = 1024, kBiasTokens = 1024, kStopTokens = 128;
  constexpr std::int64_t kBadWordTokens = 1024, kBadWords = 128, kLogprobTokens = 128;
  const std::int64_t requests = settings.max_num_seqs, words = (vocabulary + 31) / 32;
  const auto keep = [&](std::int64_t columns, DType dtype = DType::int32) {
    kept_.push_back(kernel_output("zeros", {requests, columns}, dtype));
  };
  keep(words);  // PenaltiesState: prompt_bin_mask, output_bin_counts
  keep(vocabulary);
  keep(kAllowedTokens);  // LogitBiasState
  keep(kBiasTokens);
  keep(kBiasTokens, DType::float32);
  keep(kStopTokens);
  keep(kBadWordTokens);  // BadWordsState
  keep(kBadWords + 1);
  keep(kLogprobTokens);                                               // LogprobTokenIdsState
  kept_.push_back(kernel_output("zeros", {requests}, DType::int32));  // StructuredOutputsWorker
  keep(words);
}

}  // namespace memtape::vllm
