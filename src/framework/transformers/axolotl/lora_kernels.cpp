// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/axolotl/lora_kernels.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/torch/lora_layer.h"
#include "framework/transformers/axolotl/lora_functions.h"
#include "framework/transformers/fms_acceleration/fused_lora.h"
#include "framework/transformers/trainer_recipe.h"
#include "model/type_of.h"
#include "workload/train_recipe.h"

namespace memtape::transformers::axolotl {
namespace {

using nn::ModuleNode;
using torch::LoraLinear;

/// Attentions of transformers 5.17 that hold one of QKV_PATCHES and ORIGINAL_O_CODE.
constexpr auto kRewritten = std::to_array<std::string_view>({"apertus",
                                                             "arcee",
                                                             "bamba",
                                                             "cohere2",
                                                             "cwm",
                                                             "dots1",
                                                             "ernie4_5",
                                                             "exaone4",
                                                             "ernie4_5_moe",
                                                             "gemma",
                                                             "gemma2",
                                                             "gemma3_text",
                                                             "glm",
                                                             "glm4",
                                                             "gpt_oss",
                                                             "granite",
                                                             "granitemoe",
                                                             "helium",
                                                             "granitemoehybrid",
                                                             "granitemoeshared",
                                                             "hunyuan_v1_dense",
                                                             "hunyuan_v1_moe",
                                                             "jamba",
                                                             "llama",
                                                             "minimax",
                                                             "ministral",
                                                             "ministral3",
                                                             "mistral",
                                                             "mixtral",
                                                             "nanochat",
                                                             "nemotron",
                                                             "nemotron_h",
                                                             "phimoe",
                                                             "qwen2",
                                                             "qwen2_moe",
                                                             "qwen3",
                                                             "qwen3_moe",
                                                             "qwen3_next",
                                                             "seed_oss",
                                                             "smollm3",
                                                             "solar_open",
                                                             "starcoder2",
                                                             "vaultgemma"});

/// Those that hold neither: "Original QKV code not found".
constexpr auto kNotRewritten = std::to_array<std::string_view>(
    {"afmoe",       "bloom",         "codegen",     "cohere",      "dbrx",          "deepseek_v2",
     "deepseek_v3", "deepseek_v32",  "deepseek_v4", "falcon",      "falcon_h1",     "flex_olmo",
     "glm4_moe",    "glm4_moe_lite", "gpt2",        "gpt_bigcode", "gpt_neo",       "gpt_neox",
     "gptj",        "jetmoe",        "lfm2",        "lfm2_moe",    "mimo_v2_flash", "minimax_m2",
     "mpt",         "olmo",          "olmo2",       "olmo3",       "olmoe",         "opt",
     "persimmon",   "phi",           "phi3",        "stablelm",    "xglm",          "zamba2"});

template <std::size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::ranges::find(names, name) != names.end();
}

/// The plugin omits its fused functions where the base is not quantized; those over GPTQ are others.
Result<void> check_of_fms(const TrainRecipe& recipe) {
  const bool is_4bit = recipe.quantization && !recipe.quantization->int8;
  if (recipe.lora && is_4bit && recipe.quantization->double_quant) return {};
  return unsupported("fms-acceleration's fused adapters are modelled over doubly quantized 4 bits",
                     "--fused_lora", "--quantization with bnb_4bit_use_double_quant");
}

Result<void> check(const TrainRecipe& recipe, bool partitions_parameters) {
  if (trainer_of(recipe).lora_kernels.of_fms_acceleration) return check_of_fms(recipe);
  if (!recipe.lora)
    return bad_input("axolotl's fused LoRA kernels need an adapter", "--lora_mlp_kernel",
                     "--peft {\"r\": 16}");
  if (recipe.quantization && recipe.quantization->int8)
    return bad_input("axolotl refuses its fused LoRA kernels over 8-bit weights",
                     "--lora_mlp_kernel", "leave them out");
  if (partitions_parameters || trainer_of(recipe).fsdp)
    return unsupported("axolotl's fused LoRA kernels over sharded parameters are not modelled",
                       "lora_qkv_kernel", "lora_qkv_kernel: false and its like");
  return {};
}

nn::Projection* child_projection(const ModuleNode& node, std::string_view name) {
  for (const ModuleNode* child : node.children)
    if (child->name == name) return child->projection;
  return nullptr;
}

LoraLinear* adapter_of(const nn::Projection* projection) {
  return projection ? dynamic_cast<LoraLinear*>(projection->adapter.get()) : nullptr;
}

/// The projections of those names, if each is there and adapted.
std::vector<nn::Projection*> adapted(const ModuleNode& node,
                                     std::initializer_list<std::string_view> names) {
  std::vector<nn::Projection*> found;
  for (const std::string_view name : names) {
    nn::Projection* projection = child_projection(node, name);
    if (!adapter_of(projection)) return {};
    found.push_back(projection);
  }
  return found;
}

/// A projection beside peft's layer, which owns what the functions read.
struct Adapted {
  explicit Adapted(nn::Projection& projection)
      : layer(&projection), lora(adapter_of(&projection)) {}
  LoraParameters parameters() const { return {layer, lora->weight_A(), lora->weight_B()}; }
  fms_acceleration::AdaptedProjection with_dropout() const {
    return {layer, lora->weight_A(), lora->weight_B(), lora->dropout()};
  }
  /// _apply_dropout
  Tensor dropped(const Tensor& x) const {
    nn::Dropout* const dropout = lora->dropout();
    return dropout ? (*dropout)(x) : Tensor();
  }
  nn::Projection* layer;
  LoraLinear* lora;
};

/// apply_qkv makes all three at once; k_proj and v_proj then hand out what is theirs.
class FusedQkv {
 public:
  FusedQkv(const ModuleNode& attention, std::span<nn::Projection* const> projections,
           bool of_fms_acceleration)
      : attention_(attention), of_fms_acceleration_(of_fms_acceleration) {
    for (nn::Projection* projection : projections) projections_.emplace_back(*projection);
  }
  void run(const Tensor& x) {
    const ghost::ScopeGuard guard(attention_.scope);
    if (of_fms_acceleration_) {
      std::vector<fms_acceleration::AdaptedProjection> given;
      for (const Adapted& projection : projections_) given.push_back(projection.with_dropout());
      made_ = fms_acceleration::lora_qkv(x, given);
      return;
    }
    const Tensor dropped = projections_.front().dropped(x);
    std::vector<LoraParameters> given;
    for (const Adapted& projection : projections_) given.push_back(projection.parameters());
    made_ = lora_projections(x, dropped, given);
  }
  Tensor take(std::size_t index) { return std::move(made_[index]); }

 private:
  const ModuleNode& attention_;
  bool of_fms_acceleration_;
  std::vector<Adapted> projections_;
  std::vector<Tensor> made_;
};

class QkvAdapter final : public nn::ProjectionAdapter {
 public:
  QkvAdapter(std::shared_ptr<FusedQkv> fused, std::size_t index,
             std::unique_ptr<nn::ProjectionAdapter> peft)
      : fused_(std::move(fused)), index_(index), peft_(std::move(peft)) {}
  Tensor forward(nn::Projection&, const Tensor& x) override {
    if (index_ == 0) fused_->run(x);
    return fused_->take(index_);
  }

 private:
  std::shared_ptr<FusedQkv> fused_;
  std::size_t index_;
  std::unique_ptr<nn::ProjectionAdapter> peft_;
};

/// apply_lora_o
class OutputAdapter final : public nn::ProjectionAdapter {
 public:
  OutputAdapter(const Adapted& adapted, std::unique_ptr<nn::ProjectionAdapter> peft,
                bool of_fms_acceleration)
      : adapted_(adapted), peft_(std::move(peft)), of_fms_acceleration_(of_fms_acceleration) {}
  Tensor forward(nn::Projection&, const Tensor& x) override {
    if (of_fms_acceleration_) return fms_acceleration::lora_w(x, adapted_.with_dropout());
    return lora_output(x, adapted_.dropped(x), adapted_.parameters());
  }

 private:
  Adapted adapted_;
  std::unique_ptr<nn::ProjectionAdapter> peft_;
  bool of_fms_acceleration_;
};

/// apply_lora_mlp_swiglu and its like with gelu, whose memory is the same.
class MlpPatch final : public nn::ForwardPatch {
 public:
  explicit MlpPatch(std::span<nn::Projection* const> projections)
      : gate_(*projections[0]), up_(*projections[1]), down_(*projections[2]) {}
  Tensor forward(const Tensor& x) override {
    return lora_mlp(x, gate_.dropped(x),
                    {gate_.parameters(), up_.parameters(), down_.parameters()});
  }

 private:
  Adapted gate_, up_, down_;
};

void patch_attention(const ModuleNode& node, const FusedLoraRecipe& kernels) {
  if (!child_projection(node, "o_proj")) return;
  if (const auto found = adapted(node, {"q_proj", "k_proj", "v_proj"});
      kernels.qkv && !found.empty()) {
    const auto fused = std::make_shared<FusedQkv>(node, found, kernels.of_fms_acceleration);
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i]->adapter = std::make_unique<QkvAdapter>(fused, i, std::move(found[i]->adapter));
  }
  if (const auto found = adapted(node, {"o_proj"}); kernels.o && !found.empty()) {
    nn::Projection& output = *found.front();
    const Adapted read(output);
    output.adapter = std::make_unique<OutputAdapter>(read, std::move(output.adapter),
                                                     kernels.of_fms_acceleration);
  }
}

Result<void> patch_mlp(ModuleNode& node, std::string_view activation, bool of_fms_acceleration) {
  if (!child_projection(node, "gate_proj") || !child_projection(node, "up_proj") ||
      !child_projection(node, "down_proj"))
    return {};
  if (activation != "silu" && activation.find("gelu") == std::string_view::npos)
    return bad_input("axolotl's lora_mlp_kernel refuses the activation " + std::string(activation),
                     "lora_mlp_kernel", "lora_mlp_kernel: false");
  const auto found = adapted(node, {"gate_proj", "up_proj", "down_proj"});
  if (!found.empty() && of_fms_acceleration)
    return unsupported("fms-acceleration's fused function of a gated MLP is not modelled",
                       "--fused_lora", "adapters of the attention alone");
  if (!found.empty()) node.patch = std::make_unique<MlpPatch>(found);
  return {};
}

/// text_config.hidden_act, or what models call it instead.
std::string activation_of(const Config& config) {
  for (const char* name : {"hidden_act", "hidden_activation", "mlp_hidden_act"})
    if (config.has(name)) return config.text(name, "");
  return "silu";
}

/// Each of a layer's adapters is two matrices and no more.
Result<void> check_adapters(const std::vector<nn::NamedModule>& modules) {
  for (const nn::NamedModule& module : modules)
    if (const LoraLinear* lora = adapter_of(module.node->projection); lora && !lora->is_plain())
      return unsupported("DoRA and biases in axolotl's fused LoRA kernels are not modelled",
                         "lora_qkv_kernel", "lora_qkv_kernel: false and its like");
  return {};
}

}  // namespace

std::string why_not_fused(const Config& config, const TrainRecipe& recipe) {
  const std::string type = type_of(config);
  const FusedLoraRecipe& kernels = trainer_of(recipe).lora_kernels;
  if (!kernels.any() || is_one_of(type, kRewritten)) return {};
  const bool stops = (kernels.qkv || kernels.o) && is_one_of(type, kNotRewritten);
  return "axolotl's fused LoRA kernels for " + type + " are not modelled: the adapters are peft's" +
         (stops ? "; axolotl 0.19 stops here (Original QKV code not found) unless lora_qkv_kernel "
                  "and lora_o_kernel are false"
                : "");
}

Result<void> apply_lora_kernels(family::PretrainedModel& model, const Config& config,
                                const TrainRecipe& recipe, bool partitions_parameters) {
  const FusedLoraRecipe& kernels = trainer_of(recipe).lora_kernels;
  if (!kernels.any()) return {};
  if (const auto fine = check(recipe, partitions_parameters); !fine) return fine;
  const std::vector<nn::NamedModule> modules = nn::named_modules(model.tree.root());
  if (const Result<void> fine = check_adapters(modules); !fine) return fine;
  const std::string activation = activation_of(config);
  for (const nn::NamedModule& module : modules) {
    ModuleNode& node = *module.node;
    if (node.name == "self_attn") patch_attention(node, kernels);
    if (node.name != "mlp" || !kernels.mlp) continue;
    if (const Result<void> done = patch_mlp(node, activation, kernels.of_fms_acceleration); !done)
      return done;
  }
  return {};
}

}  // namespace memtape::transformers::axolotl
