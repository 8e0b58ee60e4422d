// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/converted_model.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pattern.h"
#include "framework/torch/model_setup.h"
#include "framework/transformers/checkpoint_loading.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/pointwise.h"
#include "nn/layers.h"

namespace memtape::transformers {
namespace {

using ghost::Dims;
using ghost::Tensor;
using nn::ModuleNode;

constexpr std::int64_t kMicroscalingBlock = 32;

std::int64_t blocks(std::int64_t size, std::int64_t of) {
  return of > 0 ? (size + of - 1) / of : 1;
}

/// FP8Linear.forward by the Triton kernel, which quantizes its input as it goes.
class LinearFloat8 final : public nn::ProjectionKernel {
 public:
  explicit LinearFloat8(DType compute) : compute_(compute) {}
  Tensor forward(nn::Projection& layer, const Tensor& x) override {
    const ghost::Op op("finegrained_fp8_linear", {});
    const Tensor input = x.contiguous();
    Tensor out = ghost::empty(x.sizes().leading().with(layer.out_features), x.dtype());
    if (layer.bias.defined()) ghost::add_(out, layer.bias);
    return out;
  }
  DType compute_dtype() const override { return compute_; }

 private:
  DType compute_;
};

/// A scale beside a weight, which becomes a buffer of its module once it has memory.
struct Scale {
  ModuleNode* node;
  std::string module;
  ModuleNode::Named named;
};

/// Turns the modules of one model into those that hold what is stored, before they have memory.
class Conversion {
 public:
  Conversion(QuantizedModel& loaded, const StoredWeights& stored)
      : loaded_(loaded), stored_(stored), head_(loaded.model->output_embeddings()) {}

  void run() {
    for (const nn::NamedModule& module : nn::named_modules(loaded_.model->tree.root())) {
      if (!converts(module.name)) continue;
      const bool has_experts =
          std::string_view(module.name).ends_with(".experts") && !module.node->projection;
      if (has_experts)
        convert_experts(module);
      else if (stored_.kind == StoredWeights::Kind::float8)
        convert_linear(module);
    }
  }

  std::vector<Scale>& scales() { return scales_; }

 private:
  /// should_convert_module (quantizers/quantizers_utils.py)
  bool converts(std::string_view name) const {
    if (stored_.not_converted.empty()) return name != head_;
    return std::ranges::none_of(stored_.not_converted, [&](const std::string& key) {
      return name.ends_with(key) || match_at_start(key, name).value_or(name.starts_with(key));
    });
  }

  static void take_form(const Tensor& weight, const Dims& sizes, DType dtype) {
    const Tensor form = ghost::empty(sizes, dtype);
    ghost::TensorImpl& impl = weight.impl();
    impl.sizes = form.sizes();
    impl.strides = form.strides();
    impl.dtype = dtype;
    impl.requires_grad = false;
  }

  void add_scale(const nn::NamedModule& module, std::string name, const Dims& sizes, DType dtype) {
    scales_.push_back({module.node, module.name, {std::move(name), ghost::empty(sizes, dtype)}});
  }

  void convert_linear(const nn::NamedModule& module) {
    auto* const layer = dynamic_cast<nn::Linear*>(module.node->projection);
    if (!layer) return;
    const Float8Layout& form = stored_.float8;
    layer->kernel = std::make_unique<LinearFloat8>(layer->weight.dtype());
    take_form(layer->weight, layer->weight.sizes(), DType::float8_e4m3fn);
    const Dims scale = form.block_rows > 0 ? Dims{blocks(layer->out_features, form.block_rows),
                                                  blocks(layer->in_features, form.block_columns)}
                                           : Dims{};
    add_scale(module, "weight_scale_inv", scale, form.block_rows > 0 ? form.scale : DType::float32);
  }

  /// The weights of all experts are three-dimensional; biases are not.
  void convert_experts(const nn::NamedModule& module) {
    for (const ModuleNode::Named& p : module.node->parameters) {
      if (p.tensor.dim() != 3) continue;
      if (stored_.kind == StoredWeights::Kind::mxfp4)
        pack_experts(module, p, "_scales", DType::uint8, /*transposed=*/true);
      else if (stored_.float8.packs_experts)
        pack_experts(module, p, "_scale_inv", stored_.float8.scale, /*transposed=*/false);
      else
        convert_float8_experts(module, p);
    }
  }

  /// _alloc_expert_proj: gate and up have a scale each at least.
  void convert_float8_experts(const nn::NamedModule& module, const ModuleNode::Named& p) {
    const Float8Layout& form = stored_.float8;
    const Dims sizes = p.tensor.sizes();
    take_form(p.tensor, sizes, DType::float8_e4m3fn);
    const std::int64_t least = p.name == "gate_up_proj" ? 2 : 1;
    const std::int64_t rows = std::max(blocks(sizes[1], form.block_rows), least);
    add_scale(module, p.name + "_scale_inv", {sizes[0], rows, blocks(sizes[2], form.block_columns)},
              form.scale);
  }

  /// [experts, out, in / 2] bytes, and a scale for each 32 numbers of a row. GPT-OSS's are
  /// [experts, in, out] in 16 bits.
  void pack_experts(const nn::NamedModule& module, const ModuleNode::Named& p,
                    const char* scale_suffix, DType scale, bool transposed) {
    const Dims sizes = p.tensor.sizes();
    const std::int64_t in = transposed ? sizes[1] : sizes[2],
                       out = transposed ? sizes[2] : sizes[1];
    take_form(p.tensor, {sizes[0], out, in / 2}, DType::uint8);
    loaded_.packed_away += sizes[0] * out * (in - in / 2);
    add_scale(module, p.name + scale_suffix, {sizes[0], out, blocks(in, kMicroscalingBlock)},
              scale);
  }

  QuantizedModel& loaded_;
  const StoredWeights& stored_;
  std::string_view head_;
  std::vector<Scale> scales_;
};

/// What arrives, in the natural order of its names, behind the warm-up of the allocator.
void take_stored(family::PretrainedModel& model, const std::vector<Scale>& scales,
                 BytesToLoad bytes) {
  std::vector<ModuleNode::Named> tensors = nn::named_parameters(model.tree.root());
  for (const Scale& scale : scales)
    tensors.push_back({scale.module + "." + scale.named.name, scale.named.tensor});
  for (const ModuleNode::Named& t : tensors) bytes.add(t.name, t.tensor.nbytes());
  warm_up_allocator(bytes.total());
  std::ranges::stable_sort(
      tensors, [](const auto& a, const auto& b) { return loads_before(a.name, b.name); });
  const Places places(model.tree.root());
  for (const ModuleNode::Named& t : tensors) {
    const ghost::ScopeGuard place(places.of(t.name));
    take_memory(t.tensor, Category::parameter);
  }
}

}  // namespace

Result<QuantizedModel> load_converted(const Config& config, const TrainRecipe& recipe,
                                      const StoredWeights& stored) {
  ghost::Session& session = ghost::session();
  session.skipping = true;  // torch.device("meta")
  auto built = torch::new_model(config, recipe);
  if (!built) {
    session.skipping = false;
    return tl::unexpected(built.error());
  }
  QuantizedModel result{std::move(*built), 0, {}};
  Conversion conversion(result, stored);
  conversion.run();
  session.skipping = false;
  take_stored(*result.model, conversion.scales(), {config, recipe.layout.gpus});
  take_buffers(result.model->tree.root());
  for (Scale& scale : conversion.scales()) scale.node->buffers.push_back(std::move(scale.named));
  return result;
}

}  // namespace memtape::transformers
