// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/speculation.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/letter_case.h"
#include "framework/vllm/models/eagle.h"
#include "framework/vllm/resolve.h"
#include "model/config_fields.h"

namespace memtape::vllm {
namespace {

constexpr const char* kFlag = "--speculative-config";
/// SpeculativeConfig of vllm/config/speculative.py, 0.7 to 0.33.
constexpr std::string_view kFields =
    "method model num_speculative_tokens draft_sample_method acceptance_method attention_backend "
    "code_revision "
    "disable_by_batch_size disable_eagle_block_drop disable_log_stats disable_logprobs "
    "disable_lookahead_block_hashes disable_mqa_scorer disable_padded_drafter_batch "
    "draft_lm_head_quantization draft_load_config draft_tensor_parallel_size dspark_draft_topk "
    "enable_adaptive_verification enable_chunked_prefill enforce_eager fly_entropy_threshold "
    "fly_entropy_top_k fly_window_size "
    "index_share_for_mtp_iteration kv_cache_dtype max_model_len moe_backend "
    "num_speculative_tokens_per_batch_size parallel_drafting posterior_alpha posterior_threshold "
    "prompt_lookup_max prompt_lookup_min "
    "quantization rejection_sample_method revision speculative_token_tree "
    "suffix_decoding_max_cached_requests suffix_decoding_max_spec_factor "
    "suffix_decoding_max_tree_depth suffix_decoding_min_token_prob synthetic_acceptance_length "
    "synthetic_acceptance_rate synthetic_acceptance_rates tensor_parallel_size "
    "use_heterogeneous_vocab use_local_argmax_reduction xpress_topc";

/// SpeculativeConfig.__post_init__: a method, else what the drafter's name says.
Result<Proposer> proposer_of(const std::string& method, const std::string& model) {
  if (method.empty() && model.empty()) return Proposer::none;
  if (method == "ngram" || method == "[ngram]" || method == "ngram_gpu") return Proposer::ngram;
  if (method.ends_with("mtp")) return Proposer::mtp;
  if (method == "eagle") return Proposer::eagle;
  if (method == "eagle3") return Proposer::eagle3;
  const std::string name = lower_case(model);
  const auto says = [&](const char* word) { return name.find(word) != std::string::npos; };
  if (method.empty() || method == "draft_model") {
    if (says("eagle-")) return Proposer::eagle;
    if (says("eagle3")) return Proposer::eagle3;
    if (!says("dflash") && !says("dspark") && !says("medusa")) return Proposer::draft_model;
  }
  return unsupported(
      fmt::format("proposing by {} is not modelled", method.empty() ? model : "method " + method),
      kFlag, "method ngram, mtp, eagle, eagle3 or draft_model");
}

/// num_nextn_predict_layers under the names of the families.
std::int64_t predictor_layers(const Config& config) {
  return config.integer({"num_nextn_predict_layers", "mtp_num_hidden_layers"}, 1);
}

Result<void> read_predictor(const Config& target, Settings& s, std::vector<std::string>& warnings) {
  const std::int64_t layers = predictor_layers(target);
  std::int64_t& tokens = s.speculation.tokens;
  if (tokens == 0) tokens = layers;
  if (std::min(layers, tokens) > 1)
    return unsupported(fmt::format("a chain of {} predictors is not modelled", layers), kFlag,
                       "a model with one");
  if (!s.enforce_eager) warnings.push_back("what the drafter's CUDA graphs take is not modelled");
  return {};
}

/// _maybe_override_draft_max_position_embeddings: an EAGLE head's ropes span the target's context.
Config with_positions(const Config& head, std::int64_t length) {
  const auto own = head.optional_integer("max_position_embeddings");
  return own && *own < length ? head.with_integer("max_position_embeddings", length) : head;
}

/// A drafter that is a checkpoint of its own.
Result<void> read_drafter(const ServeRequest& request, const Config& target, Settings& s,
                          std::vector<std::string>& warnings) {
  if (!request.draft.config)
    return bad_input("names no drafter", kFlag,
                     R"({"method": "eagle3", "model": "FOLDER", "num_speculative_tokens": 3})");
  const Config own = text_config(*request.draft.config);
  Speculation& speculation = s.speculation;
  if (speculation.proposer == Proposer::draft_model) {
    speculation.drafter = std::make_shared<const Config>(own);
    const auto vocabulary = own.optional_integer("vocab_size");
    const auto targets = target.optional_integer("vocab_size");
    if (vocabulary != targets)
      return bad_input(fmt::format("a vocabulary of {} tokens proposes for one of {}",
                                   vocabulary.value_or(0), targets.value_or(0)),
                       own.where(), "a drafter of the same vocabulary");
    return {};
  }
  speculation.drafter = std::make_shared<const Config>(with_positions(own, s.max_model_len));
  if (speculation.proposer == Proposer::eagle3)
    speculation.target_layers = eagle3_target_layers(own, target.integer("num_hidden_layers", 0));
  warnings.push_back(speculation.proposer == Proposer::eagle3
                         ? "the EAGLE head is taken to bring its head, but no token embeddings"
                         : "the EAGLE head is taken to bring neither token embeddings nor a head");
  if (!s.enforce_eager) warnings.push_back("what the drafter's CUDA graphs take is not modelled");
  return {};
}

}  // namespace

Result<std::string> drafter_name(const std::string& speculation) {
  const Result<Config> given = Config::parse(speculation, kFlag);
  if (!given) return tl::unexpected(given.error());
  std::string model = given->text("model", "");
  const Result<Proposer> proposer = proposer_of(given->text("method", ""), model);
  if (!proposer) return tl::unexpected(proposer.error());
  const bool is_within = *proposer == Proposer::ngram || *proposer == Proposer::mtp;
  return is_within ? std::string() : model;
}

Result<void> read_speculation(const ServeRequest& request, const Config& target, Settings& s,
                              std::vector<std::string>& warnings) {
  const std::string* text = request.options.find("speculative-config");
  if (!text) return {};
  const Result<Config> given = Config::parse(*text, kFlag);
  if (!given) return tl::unexpected(given.error());
  if (const auto known = check_keys(*given, kFlag, {kFields}); !known) return known;
  const std::string method = given->text("method", ""), model = given->text("model", "");
  const std::string sampling = given->text("draft_sample_method", "greedy");
  s.speculation.tokens = given->count("num_speculative_tokens", 0);
  if (const Result<void> read = given->check(); !read) return read;
  const Result<Proposer> proposer = proposer_of(method, model);
  if (!proposer) return tl::unexpected(proposer.error());
  s.speculation.proposer = *proposer;
  if (sampling != "greedy")
    return unsupported("only drafts of the likeliest token are modelled",
                       std::string(kFlag) + ": draft_sample_method", "greedy");
  if (*proposer == Proposer::none) return bad_input("names no method", kFlag, "method ngram");
  const bool has_weights = *proposer != Proposer::ngram;
  if (has_weights && s.runner != Runner::v2)
    warnings.push_back("the drafter's buffers and its step are taken to be those of vLLM 0.32");
  Result<void> read;
  if (*proposer == Proposer::mtp)
    read = read_predictor(target, s, warnings);
  else if (has_weights)
    read = read_drafter(request, target, s, warnings);
  if (!read) return read;
  if (s.speculation.tokens == 0)
    return bad_input("has no num_speculative_tokens", kFlag,
                     R"({"method": "ngram", "num_speculative_tokens": 3})");
  return {};
}

}  // namespace memtape::vllm
