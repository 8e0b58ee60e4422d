// SPDX-License-Identifier: Apache-2.0
// CodeGen: GPT-J with one projection for queries, values and keys, laid out for four cores of a
// TPU, and rotated in float32; mirroring transformers 5.17 and 5.24
// models/codegen/modeling_codegen.py.
#include "family/facts.h"
#include "family/parts/gptj_parts.h"
#include "family/parts/transformer_for_causal_lm.h"
#include "ghost/ops/indexing.h"

namespace memtape::family {
namespace {

constexpr std::int64_t kMpNum = 4;

class CodeGenProjection {
 public:
  static constexpr bool kMasksFirst = true;
  static constexpr bool kRotatesInFloat32 = true;
  static constexpr bool kFollowsOutput = true;

  CodeGenProjection(const nn::Scope& scope, const GPTJConfig& c)
      : n_head_(c.n_head),
        head_dim_(c.head_dim),
        qkv_proj_(scope / "qkv_proj", c.n_embd, 3 * c.n_embd, false) {}

  GPTJHeads operator()(const Tensor& hidden_states) {
    if (ghost::has(changes::kGptJCallsTheInterface)) return split(qkv_proj_(hidden_states));
    const Tensor qkv = qkv_proj_(hidden_states);
    const Tensor qkv_split = qkv.reshape(qkv.sizes().leading().with(kMpNum).with(-1));
    const std::vector<Tensor> parts = qkv_split.chunk(3, -1);
    Tensor query = split_heads(parts[0]);
    Tensor key = split_heads(parts[2]);
    Tensor value = split_heads(parts[1]);
    return {.query = std::move(query),
            .key = std::move(key),
            .value = std::move(value),
            .held = {qkv, qkv_split, parts[0], parts[1], parts[2]}};
  }

  static GPTJSinCos sincos(const Tensor& table, const Tensor& position_ids, DType) {
    return {.sincos = ghost::index(table, position_ids)};
  }

 private:
  /// The same since kGptJCallsTheInterface: parts lose their names to the heads made of them.
  GPTJHeads split(const Tensor& projected) const {
    const Tensor qkv = projected.view(projected.sizes().leading().with(kMpNum).with(-1));
    std::vector<Tensor> parts = qkv.chunk(3, -1);
    const Dims shape = projected.sizes().leading().with(n_head_).with(head_dim_);
    for (const std::size_t part : {0, 2, 1}) parts[part] = parts[part].reshape(shape);
    return {.query = parts[0], .key = parts[2], .value = parts[1], .held = {qkv}};
  }

  /// [B, S, cores, H / cores * D] as [B, S, H, D].
  Tensor split_heads(const Tensor& x) const {
    Tensor reshaped = x.reshape(x.sizes().leading().with(n_head_ / kMpNum).with(head_dim_));
    reshaped = reshaped.reshape({x.size(0), x.size(1), n_head_, head_dim_});
    return reshaped;
  }

  std::int64_t n_head_, head_dim_;
  nn::Linear qkv_proj_;
};

ModelPointer build_codegen(const Config& c, const ModelOptions& options) {
  const GPTJConfig config(c, options);
  if (config.n_head % kMpNum != 0) c.fail("n_head", "must be a multiple of 4");
  using Model = GPTJModel<CodeGenProjection>;
  return build_checked<TransformerForCausalLM<Model, true>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kCodegen{.model_type = "codegen",
                                  .ties_head = Known::no,
                                  .has_bos = Known::yes,
                                  .modeling = eager_only(kDecoder),
                                  .module_rates = {"resid_pdrop", "embd_pdrop", "attn_pdrop"},
                                  .build = build_codegen};

}  // namespace memtape::family
