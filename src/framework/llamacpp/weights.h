// SPDX-License-Identifier: Apache-2.0
// WeightList: a model's tensors by name and shape, as its architecture asks for them. Where a file
// says which tensors there are, the file decides; else the architecture does, and what real models
// have in more than one way (a tied output, rope factors) follows from the number of tensors.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "framework/llamacpp/hyperparameters.h"
#include "ggml/tensor.h"

namespace memtape::llamacpp {

enum class Place : std::uint8_t { input, repeating, output };

struct Weight {
  std::string name;   ///< "blk.0.attn_q.weight"
  std::string local;  ///< "attn_q.weight"
  std::int64_t layer = -1;
  ggml::Extents ne{1, 1, 1, 1};
  ggml::Type type = ggml::Type::f32;
  Place place = Place::repeating;
  bool skipped = false;    ///< in the file, but not loaded: a draft head
  bool duplicate = false;  ///< a tensor that is stored under another's name and loaded again
  int adapts = -1;         ///< of an adapter: the index of the weight that it adapts
  bool separate = false;   ///< a duplicate even within one buffer: asked for before the original

  Bytes bytes() const;
};

struct StoredWeight {
  ggml::Extents ne{1, 1, 1, 1};
  ggml::Type type = ggml::Type::f32;
};
using StoredWeights = std::map<std::string, StoredWeight, std::less<>>;

/// What files of one architecture have or have not.
struct Choices {
  std::optional<bool> tied = {};  ///< the embeddings are the output matrix; else as usual
  bool rope_factors = false;
  bool extra = false;  ///< the architecture's own option
};

/// Under which a file has it: a layer's, "enc." or "dec." first where it is one of those halves'.
std::string stored_name(std::int64_t il, std::string_view local);

class WeightList {
 public:
  WeightList(const StoredWeights* stored, Choices choices) : stored_(stored), choices_(choices) {}

  /// `il` is -1 for what belongs to no layer.
  void add(std::int64_t il, std::string_view local, std::initializer_list<std::int64_t> ne);
  /// Whether it is there: as stored, else as `usual`.
  bool maybe(std::int64_t il, std::string_view local, std::initializer_list<std::int64_t> ne,
             bool usual);
  bool is_stored(std::int64_t il, std::string_view local) const;
  bool knows_stored() const { return stored_ != nullptr; }

  void token_embeddings(const Hyperparameters& hp);
  /// output_norm and the output matrix, which may be the embeddings'.
  void output(const Hyperparameters& hp, bool always_tied = false);
  void output_matrix(const Hyperparameters& hp, bool always_tied = false);
  /// Named as if it belonged to no layer, placed with the first.
  void of_first_layer(std::string_view local, std::initializer_list<std::int64_t> ne);
  /// What layers share by one name: stored once, by the first.
  void shared(std::int64_t il, std::string_view local, std::int64_t n, bool first);
  /// A layer's rope factors, which all layers share.
  void rope_factors(const Hyperparameters& hp, std::int64_t il);
  /// Q, K, V as three or as one, with biases where stored or `biased`.
  void qkv(std::int64_t il, std::int64_t in, std::initializer_list<std::int64_t> q_k_v,
           bool biased = false, bool fused = false);
  void gated_ffn(std::int64_t il, std::int64_t n_embd, std::int64_t n_ff,
                 std::string_view suffix = "");
  void experts(std::int64_t il, const Hyperparameters& hp, std::int64_t n_ff);

  /// From now on tensors are stored, but not loaded.
  void skip_from_here() { skips_ = true; }
  /// What a draft block has beside a layer's tensors; embeddings and head of its own or not.
  void draft_block(const Hyperparameters& hp, std::int64_t il, bool own_head = true);

  /// A whole model of layers and, behind them, draft blocks that hold a layer each.
  void layers_and_drafts(const Hyperparameters& hp,
                         void (*list_layer)(const Hyperparameters&, std::int64_t, WeightList&),
                         bool own_head = true);

  /// The rest of what is stored: llama.cpp refuses files with tensors that it has no use for.
  /// Returns their names without numbers of layers.
  std::set<std::string> keep_unlisted(const Hyperparameters& hp);

  Choices choices() const { return choices_; }
  const std::vector<Weight>& all() const { return weights_; }
  std::vector<Weight> take() && { return std::move(weights_); }
  /// How many a file holds.
  std::int64_t stored_count() const;
  const std::string& problem() const { return problem_; }

 private:
  Weight made(std::int64_t il, std::string_view local,
              std::initializer_list<std::int64_t> ne) const;
  void keep(Weight weight);

  const StoredWeights* stored_;
  Choices choices_;
  bool skips_ = false;
  std::vector<Weight> weights_;
  std::string problem_;
};

/// The op that a tensor is used with, by its name (llama-arch.cpp, llm_tensor_info).
ggml::Op op_of(const Weight& weight);

}  // namespace memtape::llamacpp
