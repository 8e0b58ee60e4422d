// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/liger/apply.h"

#include <algorithm>
#include <array>
#include <string>

#include "framework/transformers/liger/functions.h"
#include "framework/transformers/liger/fused_linear_cross_entropy.h"
#include "ghost/ops/padding.h"
#include "nn/layers.h"

namespace memtape::transformers::liger {
namespace {

using nn::ModuleNode;

enum class Gate { silu, gelu, fused_silu };

/// What apply_liger_kernel_to_MODEL patches.
struct Kernels {
  std::string_view family;
  Gate gate;
  bool norms_in_place = true;  ///< of the layers; gemma's last norm is like them
  bool inner_norms = false;    ///< q_norm and k_norm, too
  bool has_fused_head = true;
  bool rotates = true;  ///< its rope is replaced, too
};
constexpr auto kKernels = std::to_array<Kernels>({
    {"llama", Gate::silu},
    {"mistral", Gate::silu},
    {"qwen2", Gate::silu},
    {"qwen3", Gate::silu, true, true},
    {"smollm3", Gate::silu},
    {"mllama_text_model", Gate::silu},
    {"granite", Gate::silu, true, false, false},
    {"olmo2", Gate::silu, false},
    {"olmo3", Gate::silu, false},
    {"phi3", Gate::fused_silu},
    {"gemma", Gate::gelu},
    {"gemma2", Gate::gelu, false},
    {"gemma3_text", Gate::gelu, false, true},
    {"gemma3", Gate::gelu, false, true},
    // axolotl's own patches (0.19, integrations/liger/plugin.py), without rope and loss.
    {"gemma4", Gate::gelu, false, true, false, false},
});

/// Model types that Liger has kernels for and that are not modelled here with them.
constexpr auto kOthers = std::to_array<std::string_view>(
    {"deepseek_v2", "deepseek_v3", "deepseek_v4", "gemma4_text",     "glm4",        "glm4v",
     "glm4v_moe",   "gpt_oss",     "internvl",    "llama4",          "llama4_text", "llava",
     "mllama",      "ministral",   "mixtral",     "nemotron",        "pixtral",     "qwen3_moe",
     "qwen2_vl",    "qwen2_5_vl",  "qwen3_next",  "qwen3_5",         "qwen3_vl",    "paligemma",
     "falcon_h1",   "smolvlm",     "exaone4",     "hunyuan_v1_dense"});

const Kernels* find(std::string_view family) {
  for (const Kernels& kernels : kKernels)
    if (kernels.family == family) return &kernels;
  return nullptr;
}

class NormPatch final : public nn::ForwardPatch {
 public:
  NormPatch(const Tensor& weight, bool in_place) : weight_(weight), in_place_(in_place) {}
  Tensor forward(const Tensor& x) override { return rms_norm(x, weight_, in_place_); }

 private:
  Tensor weight_;
  bool in_place_;
};

/// LigerSwiGLUMLP, LigerGEGLUMLP.
class GatedPatch final : public nn::ForwardPatch {
 public:
  GatedPatch(nn::Projection& gate, nn::Projection& up, nn::Projection& down, Gate kind)
      : gate_(gate), up_(up), down_(down), kind_(kind) {}
  Tensor forward(const Tensor& x) override { return down_(product(x)); }

 private:
  Tensor product(const Tensor& x) {
    const Tensor gate = gate_(x);
    const Tensor up = up_(x);
    return activated_product(
        kind_ == Gate::gelu ? "LigerGELUMulFunctionBackward" : "LigerSiLUMulFunctionBackward", gate,
        up);
  }

  nn::Projection &gate_, &up_, &down_;
  Gate kind_;
};

/// LigerPhi3SwiGLUMLP: the halves of one product.
class FusedGatePatch final : public nn::ForwardPatch {
 public:
  FusedGatePatch(nn::Projection& gate_up, nn::Projection& down) : gate_up_(gate_up), down_(down) {}
  Tensor forward(const Tensor& x) override {
    Tensor up_states = gate_up_(x);
    std::vector<Tensor> halves = up_states.chunk(2, -1);
    up_states = halves[1];
    const Tensor gate = halves[0];
    halves.clear();
    return down_(activated_product("LigerSiLUMulFunctionBackward", gate, up_states));
  }

 private:
  nn::Projection &gate_up_, &down_;
};

nn::Projection* projection(const ModuleNode& node, std::string_view name) {
  for (const ModuleNode* child : node.children)
    if (child->name == name) return child->projection;
  return nullptr;
}

void patch_mlp(ModuleNode& node, Gate gate) {
  nn::Projection* down = projection(node, "down_proj");
  if (gate == Gate::fused_silu) {
    nn::Projection* gate_up = projection(node, "gate_up_proj");
    if (gate_up && down) node.patch = std::make_unique<FusedGatePatch>(*gate_up, *down);
    return;
  }
  nn::Projection *gate_proj = projection(node, "gate_proj"), *up = projection(node, "up_proj");
  if (gate_proj && up && down)
    node.patch = std::make_unique<GatedPatch>(*gate_proj, *up, *down, gate);
}

bool is_norm(const ModuleNode& node, const Kernels& kernels) {
  if (node.name == "q_norm" || node.name == "k_norm") return kernels.inner_norms;
  return node.name == "norm" || node.name.ends_with("layernorm");
}

/// Olmo's last norm is patched as Llama's is, whatever those of its layers are.
bool in_place(const ModuleNode& node, const Kernels& kernels) {
  return kernels.norms_in_place || (node.name == "norm" && kernels.family.substr(0, 4) == "olmo");
}

Result<void> check(const Kernels* kernels, std::string_view family, const LigerRecipe& recipe) {
  if (!kernels && std::find(kOthers.begin(), kOthers.end(), family) != kOthers.end())
    return unsupported("Liger's kernels for " + std::string(family) + " are not modelled",
                       "--use_liger_kernel", "false");
  if (kernels && (recipe.cross_entropy.value_or(!kernels->has_fused_head)))
    return unsupported("Liger's cross entropy is not modelled", "--liger_kernel_config",
                       R"({"cross_entropy": false})");
  return {};
}

}  // namespace

bool has_kernels(std::string_view family) { return find(family) != nullptr; }
bool has_fused_head(std::string_view family) {
  return has_kernels(family) && find(family)->has_fused_head;
}

Result<void> apply(family::PretrainedModel& model, std::string_view family,
                   const LigerRecipe& recipe) {
  const Kernels* kernels = find(family);
  if (const Result<void> fine = check(kernels, family, recipe); !fine) return fine;
  if (!kernels) return {};
  if (recipe.rope && kernels->rotates) ghost::session().rotary_kernel = rotary_pos_emb;
  for (const nn::NamedModule& module : nn::named_modules(model.tree.root())) {
    ModuleNode& node = *module.node;
    if (recipe.gated && node.name == "mlp") patch_mlp(node, kernels->gate);
    if (recipe.rms_norm && is_norm(node, *kernels) && node.parameters.size() == 1)
      node.patch =
          std::make_unique<NormPatch>(node.parameters.front().tensor, in_place(node, *kernels));
  }
  return {};
}

family::ModelOutput lce_forward(family::PretrainedModel& model, const family::Batch& batch) {
  if (!batch.labels.defined()) return model.forward(batch);
  const Tensor hidden_states = model.last_hidden_state(batch);
  const Tensor labels = ghost::pad_last(batch.labels, 0, 1);
  Tensor shift_labels = labels.slice(-1, 1, labels.size(-1)).contiguous();
  const Tensor rows = hidden_states.view({-1, hidden_states.size(-1)});
  shift_labels = std::move(shift_labels).view({-1});
  Tensor loss = fused_linear_cross_entropy(rows, model.head()->weight, shift_labels);
  if (batch.num_items_in_batch.defined()) loss = loss.div(batch.num_items_in_batch);
  return {std::move(loss), {}};
}

}  // namespace memtape::transformers::liger
