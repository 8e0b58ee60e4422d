// SPDX-License-Identifier: Apache-2.0
// GraphBuilder: the parts from which llama.cpp builds its graphs (llama-graph.cpp,
// llm_graph_context), with their order of evaluation. An architecture (arch/NAME.cpp) uses them as
// its graph in llama.cpp does, so that the two can be read side by side.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/llamacpp/caches.h"
#include "framework/llamacpp/context_sizes.h"
#include "ggml/scheduler.h"

namespace memtape::llamacpp {

using ggml::Tensor;

/// What a graph is built for.
struct GraphJob {
  const Hyperparameters& hp;
  const Settings& settings;
  const Placement& placement;
  const Devices& devices;
  const CachePlan& caches;
  const std::vector<Weight>& weights;
  const std::vector<const ggml::BufferType*>& weight_buffers;
  std::int64_t n_tokens = 0, n_seqs = 1, n_outputs = 1;
  bool flash = true;

  const Build& build() const { return settings.build; }
};

enum class Norm : std::uint8_t { layer, rms };
enum class Activation : std::uint8_t {
  silu,
  gelu,
  relu,
  relu_sqr,
  swiglu_oai,
  swiglu_fused,
  geglu_fused,
  xielu
};

struct Qkv {
  Tensor *q, *k, *v;
};

/// The inputs for one kind of cache.
struct CacheInputs {
  const KvCachePlan* cache = nullptr;
  Tensor *k_rows = nullptr, *v_rows = nullptr, *mask = nullptr;
  Tensor *k_rotation = nullptr, *v_rotation = nullptr;
};

struct AttentionInputs {
  CacheInputs full, window;
};

/// What attention takes in addition to Q, K and V.
struct AttentionExtras {
  Tensor *wo_bias = nullptr, *sinks = nullptr, *v_mla = nullptr;
  Tensor* bias = nullptr;    ///< added to the scores; flash attention does not take it
  Tensor* chosen = nullptr;  ///< the cells at which each token looks; null: all of them
};

struct FfnSpec {
  Activation activation = Activation::silu;
  std::string_view suffix = "";  ///< "_shexp"
  bool gated = true;
};

struct MoeSpec {
  std::int64_t n_expert = 0, n_used = 0;
  Activation activation = Activation::silu;
  bool normalize = false;
  double scale = 0;
  Gating gating = Gating::softmax;
  Tensor* logits = nullptr;    ///< if null, the router computes them from the input
  bool weights_first = false;  ///< the input is weighted, and experts are chosen by their logits
};

struct RecurrentInputs {
  Tensor *main = nullptr, *extra = nullptr;
};

class GraphBuilder {
 public:
  GraphBuilder(ggml::Graph& graph, const GraphJob& job);

  const Hyperparameters& hp;
  ggml::Graph& g;
  const std::int64_t n_tokens, n_seqs, n_seq_tokens, n_outputs;

  /// A weight, or null if the model has none.
  Tensor* w(std::string_view local) const { return w(-1, local); }
  Tensor* w(std::int64_t il, std::string_view local) const;
  Tensor* output_matrix() const { return output_; }

  Tensor* input_embeddings();
  /// The inputs of a draft block: the tokens, and the hidden states that the model made of those
  /// before them.
  struct DraftInputs {
    Tensor *tokens, *hidden;
  };
  DraftInputs input_drafts(std::int64_t il);
  /// The number of snapshots of recurrent states that are kept.
  std::int64_t snapshots() const { return job_.caches.snapshots; }
  std::int64_t state_rows() const { return job_.caches.state_rows; }
  /// What is added to a layer's output beside the embeddings (deepstack).
  Tensor* image_features(std::int64_t il);
  Tensor* input_positions();
  Tensor* input_output_rows();
  Tensor* input_attention_scale();
  AttentionInputs input_attention();
  /// The inputs for the cache of latents. It holds only K, because V is a part of K.
  AttentionInputs input_attention_k();
  /// The inputs for the cache by which attention chooses the cells it looks at.
  CacheInputs input_indexer(bool fused);
  /// Stores the keys in that cache and returns all its keys.
  Tensor* indexer_keys(const CacheInputs& in, std::int64_t il, Tensor* k);
  /// Whether the device of a layer has the op that computes the scores for this.
  bool fuses_indexer(std::int64_t il) const;
  bool has_latent_values() const { return !latent_alone(hp, job_.settings); }
  const Build& build() const { return job_.build(); }
  RecurrentInputs input_recurrent();

  /// A product with what adapters add to it (build_lora_mm).
  Tensor* mm(Tensor* weight, Tensor* x);
  Tensor* mm_id(Tensor* experts, Tensor* x, Tensor* chosen);
  Tensor* norm(Tensor* x, Tensor* weight, Tensor* bias, Norm kind, std::int64_t il);
  Tensor* rms(Tensor* x, Tensor* weight, std::int64_t il) {
    return norm(x, weight, nullptr, Norm::rms, il);
  }
  /// Adds the bias if there is one.
  Tensor* biased(Tensor* x, Tensor* bias) { return bias ? g.add(x, bias) : x; }
  Tensor* rope(Tensor* x, Tensor* positions, Tensor* factors = nullptr) {
    return g.rope(x, positions, factors);
  }
  Tensor* rope_factors(std::int64_t il) const;

  struct Heads {
    std::int64_t size, q, kv;
  };
  Qkv qkv(std::int64_t il, Tensor* x, Heads heads);
  /// Q, K and V as rows of all heads together.
  Qkv qkv_flat(std::int64_t il, Tensor* x, std::int64_t q, std::int64_t k, std::int64_t v);
  /// Attention without K and V: it uses those that an earlier layer has stored.
  Tensor* attention(const AttentionInputs& in, std::int64_t il, Qkv qkv, Tensor* wo,
                    const AttentionExtras& extras = {});
  Tensor* attention_k(const AttentionInputs& in, std::int64_t il, Qkv qkv, Tensor* wo,
                      const AttentionExtras& extras);
  /// Attention without a cache: K and V come from the batch, or from the output of an encoder.
  Tensor* attention_uncached(Tensor* mask, std::int64_t il, Qkv qkv, Tensor* wo,
                             const AttentionExtras& extras = {});
  /// A mask in half precision, for flash attention.
  Tensor* input_mask(ggml::Extents ne) { return mask(ne); }
  std::int64_t cells() const { return job_.caches.full.cells; }

  Tensor* ffn(std::int64_t il, Tensor* x, const FfnSpec& spec);
  Tensor* moe(std::int64_t il, Tensor* x, const MoeSpec& spec);

  /// The states of a layer, copied for the sequences of the batch.
  Tensor* states_of(const RecurrentInputs& in, Tensor* all, std::int64_t size);
  /// The same for a scan, which picks its rows itself.
  struct StateScan {
    Tensor* states;  ///< as rows
    ggml::Graph::Scan scan;
    ggml::Extents shape;
  };
  Tensor* scan_of(const RecurrentInputs& in, Tensor* all, StateScan scan);
  Tensor* r_of(std::int64_t il) const { return r_[static_cast<std::size_t>(il)]; }
  Tensor* s_of(std::int64_t il) const { return s_[static_cast<std::size_t>(il)]; }

  /// Adds the last norm, the output matrix and the results.
  void head(Tensor* x, Norm kind = Norm::rms);
  /// The same, but the last norm covers all rows, because draft heads read them.
  void head_for_drafts(Tensor* x, Tensor* rows);
  /// Adds the last norm and the output matrix of a draft block, which are its own or the model's.
  void draft_head(std::int64_t il, Tensor* x, Tensor* rows);
  /// What the output matrix makes of `x`, which is normed already.
  Tensor* logits(Tensor* x);
  void finish(Tensor* logits);
  /// Pools the embeddings of a sequence (build_pooling).
  void pool();
  /// Marks a result that is read in addition to the logits.
  void set_output(Tensor* x) { x->output = true; }
  bool is_last(std::int64_t il) const { return il == hp.n_layer() - 1; }

  const ggml::Pins& pins() const { return pins_; }
  /// The attention nodes with their layers. They are checked for whether flash attention can run on
  /// the layer's device.
  const std::vector<std::pair<Tensor*, std::int64_t>>& flash_nodes() const { return flash_nodes_; }

 private:
  struct KeyValue {
    Tensor *k = nullptr, *v = nullptr;
  };

  void make_weights();
  void make_caches();
  Tensor* placed(ggml::Type type, ggml::Extents ne, const ggml::BufferType* buffer);
  CacheInputs cache_inputs(const KvCachePlan& cache, bool with_v);
  Tensor* mask(ggml::Extents ne);
  Tensor* rotated(Tensor* x, Tensor* rotation);
  Tensor* masked_but(Tensor* mask, Tensor* chosen);
  void store(const CacheInputs& in, std::size_t at, Qkv qkv);
  void store_views(const KeyValue& cached, Qkv qkv);
  Tensor* store_v(Tensor* cache, Tensor* v, Tensor* rows);
  Tensor* k_view(const CacheInputs& in, std::size_t at, std::int64_t il);
  Tensor* v_view(const CacheInputs& in, std::size_t at, std::int64_t il);
  Tensor* within_latents(Tensor* k, std::int64_t width);
  Tensor* mha(Qkv qkv, Tensor* mask, const AttentionExtras& extras, std::int64_t il);
  Tensor* with_flash(Qkv qkv, Tensor* mask, const AttentionExtras& extras, std::int64_t il);
  Tensor* without_flash(Qkv qkv, Tensor* mask, const AttentionExtras& extras);
  Tensor* activated(Tensor* gate, Tensor* up, Activation activation);
  Tensor* gated(ggml::Glu kind, ggml::Unary activation, Tensor* gate, Tensor* up);
  Tensor* halved(ggml::Glu kind, ggml::Unary activation, Tensor* both);
  Tensor* expert_scores(std::int64_t il, Tensor* probs, const MoeSpec& spec);
  Tensor* limited_to_groups(Tensor* scores, const MoeSpec& spec);
  Tensor* expert_weights(std::int64_t il, Tensor* x, const MoeSpec& spec, Tensor*& chosen);
  Tensor* summed(Tensor* experts, std::int64_t n_used, std::int64_t rows);
  void pin_norm(Tensor* x, std::int64_t il);
  void clear_first_state(Tensor* states, std::int64_t size);
  void copy_extra_states(const RecurrentInputs& in, Tensor* states, Tensor* all, std::int64_t size);

  const GraphJob& job_;
  /// The two low-rank matrices of an adapter.
  struct Adapter {
    Tensor *a, *b;
  };
  std::unordered_map<std::string_view, Tensor*> weights_;
  std::unordered_map<const Tensor*, std::vector<Adapter>> adapters_;
  std::vector<Tensor*> rope_long_, rope_short_;  ///< one for each layer
  Tensor *output_ = nullptr, *embedded_ = nullptr;
  /// The normed result of the last layer, which the output matrix takes.
  Tensor* result_ = nullptr;
  std::vector<KeyValue> full_, window_, indexer_;
  std::vector<Tensor*> r_, s_;
  ggml::Pins pins_;
  std::vector<std::pair<Tensor*, std::int64_t>> flash_nodes_;
};

}  // namespace memtape::llamacpp
