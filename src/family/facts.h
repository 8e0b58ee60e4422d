// SPDX-License-Identifier: Apache-2.0
// FamilyFacts: what transformers' own files say of a family beside its forward. They stand at the
// end of the family's .cpp; elsewhere a family goes by its name only beside code that mirrors
// another package's file, which does so, too.
//
//   extern const FamilyFacts kGlm4{.model_type = "glm4", .first = {4, 51, 0}, ...
//                                  .build = build_glm4};
//
// The build makes the registry of all such definitions (registry.h): a new family is a file of
// models/ and no edit elsewhere.
// Invariant: what nobody has looked up is `unknown`, which is never a default.
// Source: configuration_NAME.py and modeling_NAME.py of transformers 5.17.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "family/pretrained.h"
#include "family/task.h"
#include "release/release.h"

namespace memtape::family {

enum class Known : std::uint8_t { unknown, no, yes };

/// What a layer hands from token to token beside keys and values.
enum class States : std::uint8_t { unknown, none, of_scan, of_convolution };

/// base_model_tp_plan, as far as it is modelled: by column up to the heads, by row behind them.
enum class TpPlan : std::uint8_t {
  not_modelled,
  dense,
  gathers_attention,  ///< q, k and v are gathered again, since norms span all heads
  norms_heads         ///< q_norm and k_norm see the heads of one GPU alone
};

/// What a modeling file says of its classes.
struct Modeling {
  States states = States::unknown;
  Known stateful = Known::unknown;            ///< _is_stateful
  Known has_sdpa = Known::unknown;            ///< _supports_sdpa; no: attention is always eager
  Known takes_position_ids = Known::unknown;  ///< forward does
  Known multimodal_rope = Known::unknown;     ///< generate() makes positions in three dimensions
  Known caches_in_training = Known::unknown;  ///< forward makes a cache that training never reads
  /// Positions start behind pad_token_id in a table of max_position_embeddings rows.
  Known counts_from_padding = Known::unknown;
};

/// Attention alone, over positions in one dimension.
inline constexpr Modeling kDecoder{.states = States::none,
                                   .stateful = Known::no,
                                   .has_sdpa = Known::yes,
                                   .takes_position_ids = Known::yes,
                                   .multimodal_rope = Known::no,
                                   .caches_in_training = Known::yes,
                                   .counts_from_padding = Known::no};
/// Encoders, alone or in front of a decoder: generate() is not modelled for them.
inline constexpr Modeling kEncoder{.states = States::none,
                                   .stateful = Known::no,
                                   .has_sdpa = Known::yes,
                                   .multimodal_rope = Known::no,
                                   .caches_in_training = Known::no,
                                   .counts_from_padding = Known::no};

/// Nothing but a scan, as in Mamba.
inline constexpr Modeling kScan{.states = States::of_scan,
                                .stateful = Known::yes,
                                .has_sdpa = Known::no,
                                .takes_position_ids = Known::no,
                                .multimodal_rope = Known::no,
                                .caches_in_training = Known::no,
                                .counts_from_padding = Known::no};

constexpr Modeling eager_only(Modeling of) {
  of.has_sdpa = Known::no;
  return of;
}
constexpr Modeling without_position_ids(Modeling of) {
  of.takes_position_ids = Known::no;
  return of;
}
constexpr Modeling with_multimodal_rope(Modeling of) {
  of.multimodal_rope = Known::yes;
  return of;
}
constexpr Modeling counting_from_padding(Modeling of) {
  of.counts_from_padding = Known::yes;
  return of;
}
constexpr Modeling caching_in_training(Modeling of) {
  of.caches_in_training = Known::yes;
  return of;
}
constexpr Modeling stateful(Modeling of) {
  of.stateful = Known::yes;
  return of;
}
constexpr Modeling with_scans(Modeling of) {
  of.states = States::of_scan;
  return stateful(of);
}
constexpr Modeling with_convolutions(Modeling of) {
  of.states = States::of_convolution;
  return of;
}

/// The heads beside the language model's that the family has and that are modelled.
struct Classifiers {
  bool sequences = false, tokens = false, answers = false, choices = false;
  /// What the configuration class sets, if it does.
  std::optional<double> classifier_dropout = {}, hidden_dropout = {};
};

struct FamilyFacts {
  std::string_view model_type;
  /// The type of its text_config, where that is no family of its own.
  std::string_view text_type = {};
  /// Of code that lies in repositories on the hub (trust_remote_code), before `first` if that is
  /// not zero: the family that it is built as. It has as many parameters; its activations may
  /// differ.
  std::string_view nearest = {};
  Task task = Task::causal_lm;  ///< of the head that comes with the family
  /// The first minor release whose models/auto maps the type, read in the wheels from 4.45 to 5.23;
  /// zero for older ones and for code on the hub.
  Version first = {};

  // Where a configuration is silent:
  Known ties_head = Known::unknown;  ///< tie_word_embeddings
  Known has_bos = Known::unknown;    ///< bos_token_id is not None
  TpPlan tp_plan = TpPlan::not_modelled;

  Modeling modeling = {};
  bool router_gives_two = false;    ///< its router is a linear layer with two results
  bool loops_over_experts = false;  ///< rows are cut by expert whatever implementation is asked for
  /// The rates that become modules, which trl's disable_dropout_in_model sets to 0.
  std::array<std::string_view, 3> module_rates = {};
  Classifiers classifiers = {};

  /// What upstream does otherwise than the answer, as a sentence; "" where it does the same.
  std::string (*taken_otherwise)(const Config& config, const Release& release) = nullptr;
  std::unique_ptr<PretrainedModel> (*build)(const Config& config,
                                            const ModelOptions& options) = nullptr;
};

}  // namespace memtape::family
