// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/runner_state.h"

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

/// The n-gram speculator's block_l.
std::int64_t ngram_piece(std::int64_t length) {
  if (length >= 1024) return 256;
  if (length >= 256) return 128;
  if (length >= 64) return 64;
  std::int64_t piece = 16;
  while (piece < length) piece *= 2;
  return piece;
}

}  // namespace

RunnerState::RunnerState(const Settings& settings) {
  const std::int64_t requests = settings.max_num_seqs, tokens = settings.max_num_batched_tokens;
  const auto keep = [&](const Dims& sizes, DType dtype) {
    kept_.push_back(kernel_output("zeros", sizes, dtype));
  };
  // RequestState: all_token_ids where an n-gram proposer scans them, total_len,
  // num_computed_tokens, last_sampled_tokens, draft_tokens, next_prefill_tokens.
  const std::int64_t drafts = settings.ngram_tokens;
  if (drafts > 0) keep({requests, settings.max_model_len}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests, 1}, DType::int64);
  if (drafts > 0) keep({requests, drafts}, DType::int64);
  keep({1, requests}, DType::int32);
  if (drafts > 0) {  // spec_decode/ngram/speculator.py: scratch by pieces of the text, drafts
    keep({requests, ceil_div(settings.max_model_len, ngram_piece(settings.max_model_len))},
         DType::int64);
    keep({requests, drafts}, DType::int64);
  }
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
  keep(kLogprobTokens);  // LogprobTokenIdsState
  // StructuredOutputsWorker: a row for each token of a request that may be sampled at a time.
  const std::int64_t logits = requests * (1 + settings.ngram_tokens);
  kept_.push_back(kernel_output("zeros", {logits}, DType::int32));
  kept_.push_back(kernel_output("zeros", {logits, words}, DType::int32));
}

}  // namespace memtape::vllm
