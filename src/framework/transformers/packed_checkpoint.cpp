// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/packed_checkpoint.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace memtape::transformers {
namespace {

using CheckpointMethod = PackedCheckpoint::Method;

tl::unexpected<Error> not_modelled(const Config& config, const std::string& what,
                                   const std::string& right) {
  return unsupported(what, config.where() + ": quantization_config", right);
}

/// gptqmodel's names of kernels (utils/backend.py), without the method before them.
std::string backend_of(const Config& quantization, std::string_view method) {
  std::string name = quantization.text("backend", "auto");
  const std::string prefix = std::string(method) + "_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

bool is_auto(std::string_view backend) { return backend == "auto" || backend == "auto_trainable"; }

constexpr std::string_view kAutoGptq = "auto_gptq", kAutoGptqCuda = "auto_gptq_cuda",
                           kFmsGptq = "fms_auto_gptq";

GptqKernel gptq_kernel_of(std::string_view backend) {
  if (backend == kAutoGptqCuda) return GptqKernel::auto_gptq_cuda;
  const bool triton = backend == kAutoGptq || backend == kFmsGptq;
  return triton ? GptqKernel::auto_gptq_triton : GptqKernel::gptqmodel;
}

/// Of the kernels that can be trained, all of gptqmodel's multiply alike. Before it there was
/// auto_gptq, which fms-acceleration still has a copy of.
Result<PackedCheckpoint> read_gptq(const Config& config, const Config& quantization,
                                   PackedUse use) {
  constexpr std::array<std::string_view, 7> kTrainable{
      "triton", "torch", "torch_aten", "torch_fused", kAutoGptq, kAutoGptqCuda, kFmsGptq};
  const std::string backend = backend_of(quantization, "gptq");
  if (use == PackedUse::training && !is_auto(backend) &&
      std::find(kTrainable.begin(), kTrainable.end(), backend) == kTrainable.end())
    return tl::unexpected(bad_input("gptqmodel's kernel " + backend + " cannot be trained",
                                    config.where() + ": quantization_config: backend",
                                    "auto_trainable, triton or torch"));
  PackedCheckpoint packed{.method = CheckpointMethod::gptq,
                          .bits = quantization.integer("bits", 4),
                          .gptq_kernel = gptq_kernel_of(backend),
                          .words_are_parameters = backend == kFmsGptq};
  if (packed.gptq_kernel == GptqKernel::auto_gptq_cuda && quantization.boolean("desc_act", false))
    return not_modelled(config, "auto_gptq's CUDA layer over desc_act is not modelled",
                        R"("desc_act": false, or "backend": "auto_gptq")");
  if (packed.bits != 2 && packed.bits != 4 && packed.bits != 8)
    return not_modelled(config, "GPTQ in " + std::to_string(packed.bits) + " bits is not modelled",
                        "2, 4 or 8");
  return packed;
}

Result<PackedCheckpoint> read_awq(const Config& config, const Config& quantization, PackedUse use) {
  const std::string version = quantization.text({"version", "format"}, "gemm");
  if (version != "gemm" && version != "GEMM")
    return not_modelled(config, "AWQ's packing " + version + " is not modelled", "gemm");
  PackedCheckpoint packed{.method = CheckpointMethod::awq,
                          .bits = quantization.integer({"bits", "w_bit"}, 4)};
  if (packed.bits != 4)
    return not_modelled(config, "AWQ in " + std::to_string(packed.bits) + " bits is not modelled",
                        "4");
  const std::string backend = backend_of(quantization, "awq");
  if (backend == "gemm")
    packed.awq_kernel = AwqKernel::cuda;
  else if (use == PackedUse::training && !is_auto(backend) && backend != "gemm_triton")
    return not_modelled(config, "training over AWQ's kernel " + backend + " is not modelled",
                        R"("backend": "gemm" or "gemm_triton")");
  packed.not_converted = quantization.texts("modules_to_not_convert");
  return packed;
}

}  // namespace

Result<std::optional<PackedCheckpoint>> packed_checkpoint(const Config& config, PackedUse use) {
  const Config quantization = config.object("quantization_config");
  const std::string method = quantization.text("quant_method", "");
  if (method != "gptq" && method != "awq") return std::optional<PackedCheckpoint>();
  Result<PackedCheckpoint> packed =
      method == "gptq" ? read_gptq(config, quantization, use) : read_awq(config, quantization, use);
  if (!packed) return tl::unexpected(packed.error());
  packed->group_size = quantization.integer({"group_size", "q_group_size"}, 128);
  if (packed->group_size != -1 && packed->group_size < 1)
    return bad_input("must be -1 or positive", config.where() + ": quantization_config: group_size",
                     "128");
  if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
  return packed;
}

std::vector<std::string> quantized_checkpoint_warnings(const Config& config) {
  const Config quantization = config.object("quantization_config");
  const std::string method = quantization.text("quant_method", "");
  std::vector<std::string> warnings;
  const bool is_auto_gptq =
      gptq_kernel_of(backend_of(quantization, method)) != GptqKernel::gptqmodel;
  if ((method == "gptq" && !is_auto_gptq) || method == "awq")
    warnings.emplace_back(kGptqmodelAllocator);
  if (method == "awq" && is_auto(backend_of(quantization, method)))
    warnings.emplace_back(
        "AWQ is taken to multiply by gptqmodel's Triton kernel, which is what there is without a "
        "CUDA compiler; \"backend\": \"gemm\" in quantization_config for its CUDA kernel, which "
        "differs for 1,024 tokens and fewer in a micro-batch");
  if (method == "gptq" && is_auto(backend_of(quantization, method)))
    warnings.emplace_back(
        "GPTQ's layers are taken to be loaded with backend=\"auto_trainable\": of what \"auto\" "
        "chooses on a GPU, Marlin, Machete and ExLlama refuse to be trained");
  if (method == "fp8" || method == "mxfp4" || method == "compressed-tensors")
    warnings.push_back(
        "the checkpoint's " + method +
        " weights are taken to be loaded with dequantize=True, as Trainer wants them");
  return warnings;
}

}  // namespace memtape::transformers
