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

RunnerState::RunnerState(const Settings& settings, std::int64_t hidden) {
  if (settings.runner != Runner::v2 && settings.counts_device()) {
    make_v1_buffers(settings, hidden);
    return;
  }
  const std::int64_t requests = settings.max_num_seqs, drafts = settings.speculation.tokens;
  const bool scans_text = settings.speculation.proposer == Proposer::ngram;
  // RequestState: all_token_ids where an n-gram proposer scans them, total_len,
  // num_computed_tokens, last_sampled_tokens, draft_tokens, next_prefill_tokens.
  if (scans_text) keep({requests, settings.max_model_len}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests, 1}, DType::int64);
  if (drafts > 0) keep({requests, drafts}, DType::int64);
  keep({1, requests}, DType::int32);
  if (scans_text) make_ngram_buffers(settings);
  if (settings.speculation.reads_target()) make_reader_buffers(settings, hidden);
  if (settings.speculation.proposer == Proposer::draft_model) make_draft_model_buffers(settings);
  make_input_buffers(settings);
}

void RunnerState::keep(const ghost::Dims& sizes, DType dtype) {
  kept_.push_back(kernel_output("zeros", sizes, dtype));
}

/// spec_decode/ngram/speculator.py: scratch by pieces of the text, drafts.
void RunnerState::make_ngram_buffers(const Settings& s) {
  keep({s.max_num_seqs, ceil_div(s.max_model_len, ngram_piece(s.max_model_len))}, DType::int64);
  keep({s.max_num_seqs, s.speculation.tokens}, DType::int64);
}

/// DraftModelSpeculator: input buffers of its own, idx_mapping, temperature, seeds, draft_tokens
/// and their confidence.
void RunnerState::make_drafter_buffers(const Settings& s) {
  const Dims each{s.max_num_seqs}, drafts{s.max_num_seqs, s.speculation.tokens};
  make_input_buffers(s);
  keep(each, DType::int64);
  keep(each, DType::float32);
  keep(each, DType::int64);
  keep(drafts, DType::int64);
  keep(drafts, DType::float32);
}

/// TargetDependentARSpeculator: hidden_states, current_draft_step, last_token_indices,
/// sample_src_positions.
void RunnerState::make_reader_buffers(const Settings& s, std::int64_t hidden) {
  const Dims each{s.max_num_seqs};
  make_drafter_buffers(s);
  drafter_hidden_ = kernel_output("zeros", {s.max_num_batched_tokens, hidden}, s.dtype);
  keep({}, DType::int64);
  keep(each, DType::int64);
  keep(each, DType::int64);
}

/// StandaloneARSpeculator: last_token_indices, arange, current_draft_step, and inputs with a place
/// more for each request.
void RunnerState::make_draft_model_buffers(const Settings& s) {
  const std::int64_t expanded = s.max_num_batched_tokens + s.max_num_seqs;
  make_drafter_buffers(s);
  keep({s.max_num_seqs}, DType::int64);
  keep({s.max_num_seqs + 1}, DType::int32);
  keep({}, DType::int64);
  keep({expanded}, DType::int32);
  keep({expanded}, DType::int64);
}

/// InputBuffers; those of the target are the ones that are asked for.
void RunnerState::make_input_buffers(const Settings& s) {
  const std::int64_t requests = s.max_num_seqs, tokens = s.max_num_batched_tokens;
  for (Tensor* buffer : {&input_ids_, &positions_})
    if (buffer->defined()) kept_.push_back(*buffer);
  input_ids_ = kernel_output("zeros", {tokens}, DType::int32);
  positions_ = kernel_output("zeros", {tokens}, DType::int64);
  keep({tokens}, DType::boolean);
  keep({requests + 1}, DType::int32);
  keep({requests}, DType::int32);
  keep({requests}, DType::int32);
}

/// GPUModelRunner.__init__, with the block table and the slots of its InputBatch (block_table.py),
/// the sampling parameters there (gpu_input_batch.py) and the logits processors' (builtin.py).
void RunnerState::make_v1_buffers(const Settings& s, std::int64_t hidden) {
  constexpr std::int64_t kBlock = 16;
  constexpr int kTokenNumbers = 3;    // req_indices, query_pos, slot_mapping
  constexpr int kRequestNumbers = 7;  // seq_lens ... num_accepted_tokens
  constexpr int kParameters = 7;      // temperature, top_p, top_k, penalties, min_p
  const Dims tokens{s.max_num_batched_tokens}, requests{s.max_num_seqs};
  keep({s.max_num_seqs, ceil_div(s.max_model_len, s.block_size.value_or(kBlock))}, DType::int32);
  input_ids_ = kernel_output("zeros", tokens, DType::int32);
  positions_ = kernel_output("zeros", tokens, DType::int64);
  for (int i = 0; i < kTokenNumbers; ++i) keep(tokens, DType::int64);
  keep({s.max_num_batched_tokens, hidden}, s.dtype);  // inputs_embeds
  keep(tokens, DType::boolean);                       // is_padding, is_token_ids
  keep(tokens, DType::boolean);
  keep({s.max_num_seqs + 1}, DType::int32);  // query_start_loc
  keep(requests, DType::int64);              // prev_positions
  keep(requests, DType::boolean);            // discard_request_mask
  for (int i = 0; i < kRequestNumbers; ++i) keep(requests, DType::int32);
  for (int i = 0; i < kParameters; ++i) keep(requests, DType::float32);
  keep({}, DType::float32);  // neg_inf_tensor
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
  const std::int64_t logits = requests * (1 + settings.speculation.tokens);
  kept_.push_back(kernel_output("zeros", {logits}, DType::int32));
  kept_.push_back(kernel_output("zeros", {logits, words}, DType::int32));
}

}  // namespace memtape::vllm
