// SPDX-License-Identifier: Apache-2.0
// WeightList: the tensors of a model by name and shape, as its architecture asks for them. If a
// file says which tensors there are, the file decides; otherwise the architecture does. What real
// models have in more than one way (a tied output, rope factors) then follows from the number of
// tensors.
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
  bool skipped = false;    ///< it is in the file but is not loaded, like a draft head
  bool duplicate = false;  ///< a tensor that is stored under another name and loaded once more
  int adapts = -1;         ///< for an adapter: the index of the weight that it adapts
  /// It is a duplicate even in the same buffer, because it is asked for before the original.
  bool separate = false;

  Bytes bytes() const;
};

struct StoredWeight {
  ggml::Extents ne{1, 1, 1, 1};
  ggml::Type type = ggml::Type::f32;
};
using StoredWeights = std::map<std::string, StoredWeight, std::less<>>;

/// In what files of one architecture differ.
struct Choices {
  /// The embeddings are the output matrix; not set: as the architecture usually has it.
  std::optional<bool> tied = {};
  bool rope_factors = false;
  bool extra = false;  ///< the architecture's own option
};

/// The name under which a file has the tensor: that of a layer, with "enc." or "dec." before it if
/// it belongs to one of these halves.
std::string stored_name(std::int64_t il, std::string_view local);

class WeightList {
 public:
  WeightList(const StoredWeights* stored, Choices choices) : stored_(stored), choices_(choices) {}

  /// `il` is -1 for tensors that belong to no layer.
  void add(std::int64_t il, std::string_view local, std::initializer_list<std::int64_t> ne);
  /// Adds the tensor if it is stored, or, without a file, if `usual` is set. It returns whether it
  /// did.
  bool maybe(std::int64_t il, std::string_view local, std::initializer_list<std::int64_t> ne,
             bool usual);
  bool is_stored(std::int64_t il, std::string_view local) const;
  bool knows_stored() const { return stored_ != nullptr; }

  void token_embeddings(const Hyperparameters& hp);
  /// Adds output_norm and the output matrix, which may be the embeddings'.
  void output(const Hyperparameters& hp, bool always_tied = false);
  void output_matrix(const Hyperparameters& hp, bool always_tied = false);
  /// Its name says that it belongs to no layer, but it is placed with the first one.
  void of_first_layer(std::string_view local, std::initializer_list<std::int64_t> ne);
  /// Layers share the tensor under one name. It is stored once, with the first layer.
  void shared(std::int64_t il, std::string_view local, std::int64_t n, bool first);
  /// The rope factors of a layer, which all layers share.
  void rope_factors(const Hyperparameters& hp, std::int64_t il);
  /// Adds Q, K and V as three tensors or as one. They have biases if these are stored or if
  /// `biased` is set.
  void qkv(std::int64_t il, std::int64_t in, std::initializer_list<std::int64_t> q_k_v,
           bool biased = false, bool fused = false);
  void gated_ffn(std::int64_t il, std::int64_t n_embd, std::int64_t n_ff,
                 std::string_view suffix = "");
  void experts(std::int64_t il, const Hyperparameters& hp, std::int64_t n_ff);

  /// Tensors that are added from now on are stored but not loaded.
  void skip_from_here() { skips_ = true; }
  /// Adds what a draft block has in addition to the tensors of a layer, with or without its own
  /// embeddings and head.
  void draft_block(const Hyperparameters& hp, std::int64_t il, bool own_head = true);

  /// Adds the layers of a whole model and then its draft blocks, each of which holds a layer.
  void layers_and_drafts(const Hyperparameters& hp,
                         void (*list_layer)(const Hyperparameters&, std::int64_t, WeightList&),
                         bool own_head = true);

  /// Keeps the other tensors that are stored, because llama.cpp refuses files with tensors that it
  /// has no use for. It returns their names without the numbers of layers.
  std::set<std::string> keep_unlisted(const Hyperparameters& hp);

  Choices choices() const { return choices_; }
  const std::vector<Weight>& all() const { return weights_; }
  std::vector<Weight> take() && { return std::move(weights_); }
  /// The number of tensors that a file holds.
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

/// The op in which a tensor is used, according to its name (llama-arch.cpp, llm_tensor_info).
ggml::Op op_of(const Weight& weight);

}  // namespace memtape::llamacpp
