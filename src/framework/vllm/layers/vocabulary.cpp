// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/vocabulary.h"

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

constexpr std::int64_t kPadding = 64;  // DEFAULT_VOCAB_PADDING_SIZE

std::int64_t padded_rows(std::int64_t vocabulary) {
  return (vocabulary + kPadding - 1) / kPadding * kPadding;
}

std::int64_t rows_on_rank(int ranks, std::int64_t vocabulary) {
  const std::int64_t padded = padded_rows(vocabulary);
  if (padded % ranks != 0)
    ghost::session().fail({ErrorKind::bad_input, "the padded vocabulary is not divisible by it",
                           "--tensor-parallel-size", "a divisor of " + std::to_string(padded)});
  return padded / ranks;
}

}  // namespace

VocabParallelEmbedding::VocabParallelEmbedding(const Place& place, std::int64_t vocabulary,
                                               std::int64_t width)
    : Module(place.scope()),
      runtime_(place.runtime()),
      weights_(place),
      vocabulary_(vocabulary),
      is_cut_(place.tp() > 1),
      rows_(rows_on_rank(place.tp(), vocabulary)),
      table_(place.parameter("weight", {rows_, width})) {
  if (runtime_.settings.lora)
    runtime_.lora_sites.push_back({.in = vocabulary, .outs = {width}, .module = "embed_tokens"});
}

void VocabParallelEmbedding::share(const Tensor& table) {
  table_ = table;
  weights_.replace("weight", table);
}

Tensor VocabParallelEmbedding::forward(const Tensor& input_ids) {
  const Dims sizes = input_ids.sizes().with(table_.size(1));
  if (is_cut_) {  // ops.vocab_parallel_embedding masks, shifts and gathers in one pass
    Tensor output = kernel_output("vocab_parallel_embedding", sizes, table_.dtype());
    return all_reduce(runtime_, output);
  }
  const Tensor indices = kernel_output("to", input_ids.sizes(), DType::int64);
  return kernel_output("embedding", sizes, table_.dtype());
}

ParallelLMHead::ParallelLMHead(const Place& place, std::int64_t vocabulary, std::int64_t width,
                               bool bias)
    : runtime_(place.runtime()), weights_(place) {
  if (runtime_.settings.pooling) return;  // StageMissingLayer
  if (place.quantization() && place.quantization()->quantizes_head(place)) {
    quantized_ = std::make_shared<Linear>(
        place, width, std::vector<std::int64_t>{padded_rows(vocabulary)}, LinearOptions{});
    return;
  }
  table_ = place.parameter("weight", {rows_on_rank(runtime_.tp(), vocabulary), width});
  if (bias) bias_ = place.parameter("bias", {table_.size(0)});
  if (runtime_.settings.lora)
    runtime_.lora_sites.push_back({.in = width, .outs = {vocabulary}, .module = "lm_head"});
}

void ParallelLMHead::tie(const Tensor& table) {
  if (runtime_.settings.pooling) return;
  table_ = table;
  weights_.replace("weight", table);
}

void ParallelLMHead::share(const ParallelLMHead& other) {
  if (other.quantized_) {
    if (table_.defined()) weights_.drop("weight");
    table_.reset();
    quantized_ = other.quantized_;
  } else if (other.table_.defined()) {
    tie(other.table_);
  }
}

Tensor ParallelLMHead::logits(const Tensor& hidden_states, bool soft_cap) const {
  Tensor logits =
      quantized_ ? (*quantized_)(hidden_states) : unquantized_gemm(hidden_states, table_, bias_);
  if (runtime_.tp() > 1) logits = all_gather_last(runtime_, logits);
  if (soft_cap)
    for (const char* op : {"div", "tanh", "mul"})
      logits = kernel_output(op, logits.sizes(), logits.dtype());
  return logits;
}

}  // namespace memtape::vllm
