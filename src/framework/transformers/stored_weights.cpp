// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/stored_weights.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "framework/transformers/arguments/quantization_config.h"

namespace memtape::transformers {
namespace {

using Kind = StoredWeights::Kind;

/// GPUs that do not run CUDA have no capability here and are taken to be new enough.
bool is_older_than(const std::optional<Gpu>& gpu, int major, int minor) {
  if (!gpu || gpu->capability_major == 0) return false;
  return gpu->capability_major < major ||
         (gpu->capability_major == major && gpu->capability_minor < minor);
}

/// The bits that a method of another library names; two where it names none, the fewest there are.
int named_bits(const Config& quantization) {
  constexpr std::int64_t kFewest = 2, kMost = 16;
  std::int64_t bits = kFewest;
  for (const char* key : {"bits", "w_bit", "nbits", "num_bits"})
    if (quantization.has(key) && !quantization.is_null(key)) bits = quantization.integer(key, bits);
  return static_cast<int>(std::clamp(bits, std::int64_t{1}, kMost));
}

StoredWeights answered_in_16_bits(std::string_view method, int least_bits) {
  StoredWeights stored{.least_bits = least_bits};
  stored.assumed.push_back(fmt::format(
      "how transformers loads {} weights is not modelled: answered in 16 bits, the most that they "
      "take; the bounds reach down to {} bits a weight",
      method, least_bits));
  return stored;
}

/// BitsAndBytesConfig: what is packed already is loaded as it is.
Result<StoredWeights> bitsandbytes(const Config& quantization) {
  const Result<QuantizationRecipe> recipe = read_quantization_config(quantization.json());
  if (!recipe) return tl::unexpected(recipe.error());
  return StoredWeights{.kind = Kind::bitsandbytes, .bitsandbytes = *recipe};
}

/// Packings of GPTQ and AWQ that are not modelled need as many bits as they name.
Result<StoredWeights> packed(const Config& config, const Config& quantization,
                             const std::string& method) {
  const auto read = packed_checkpoint(config, PackedUse::inference);
  if (!read && read.error().kind != ErrorKind::unsupported) return tl::unexpected(read.error());
  if (!read) return answered_in_16_bits(method + "'s", named_bits(quantization));
  StoredWeights stored{.kind = Kind::packed, .packed = **read};
  stored.assumed.emplace_back(kGptqmodelAllocator);
  stored.assumed.push_back(
      method +
      "'s layers are taken to multiply by a kernel of gptqmodel that unpacks one weight at a time; "
      "Marlin, Machete and ExLlama, which it chooses where they can be compiled, unpack none: the "
      "bounds reach down to that");
  return stored;
}

/// FineGrainedFP8Config
Result<StoredWeights> float8(const Config& config, const Config& quantization,
                             const std::optional<Gpu>& gpu) {
  StoredWeights stored{.kind = Kind::float8};
  const bool is_old = is_older_than(gpu, 8, 9);
  if (quantization.boolean("dequantize", false) || is_old) {
    stored.kind = Kind::sixteen_bits;
    if (is_old)
      stored.assumed.emplace_back(
          "this GPU's compute capability is below 8.9: transformers writes the checkpoint's fp8 "
          "weights out in 16 bits");
    return stored;
  }
  const std::vector<std::int64_t> block = quantization.integers("weight_block_size");
  if (block.size() == 2) {
    stored.float8.block_rows = block[0];
    stored.float8.block_columns = block[1];
  } else if (quantization.has("weight_block_size")) {
    stored.float8.block_rows = stored.float8.block_columns = 0;
  }
  if (std::ranges::any_of(block, [](std::int64_t size) { return size < 1; }))
    quantization.fail("weight_block_size", "must be positive");
  if (quantization.text("scale_fmt", "float") == "ue8m0") stored.float8.scale = DType::uint8;
  stored.float8.packs_experts = config.text("expert_dtype", "fp8") == "fp4";
  stored.not_converted = quantization.texts("modules_to_not_convert");
  if (stored.not_converted.empty()) stored.not_converted = quantization.texts("ignored_layers");
  stored.assumed.emplace_back(
      "the checkpoint's fp8 weights stay as they are, which takes the package kernels; products "
      "are "
      "taken to be those of its Triton kernel (finegrained-fp8)");
  return stored;
}

/// Mxfp4Config (validate_environment).
Result<StoredWeights> mxfp4(const Config& quantization, const std::optional<Gpu>& gpu) {
  StoredWeights stored;
  if (quantization.boolean("dequantize", false)) return stored;
  if (is_older_than(gpu, 7, 5)) {
    stored.assumed.emplace_back(
        "this GPU's compute capability is below 7.5: transformers writes the checkpoint's MXFP4 "
        "experts out in bfloat16");
    return stored;
  }
  stored.kind = Kind::mxfp4;
  stored.assumed.emplace_back(
      "the checkpoint's MXFP4 experts are taken to stay packed, which takes triton 3.4 and the "
      "package kernels: without them transformers writes them out in bfloat16, which takes four "
      "times as much (\"dequantize\": true in quantization_config answers that)");
  return stored;
}

/// CompressedTensorsConfig: dequantize=False, too, leaves nothing compressed once the model has run.
StoredWeights compressed_tensors(const Config& quantization) {
  StoredWeights stored;
  if (quantization.boolean("use_optimized_inference", false))
    return answered_in_16_bits("compressed-tensors' use_optimized_inference of", 8);
  stored.assumed.emplace_back(
      "transformers writes compressed-tensors weights out in 16 bits, experts while it loads them "
      "and all others at the first forward pass: generate() runs with 16-bit weights");
  return stored;
}

Result<StoredWeights> read(const Config& config, const std::optional<Gpu>& gpu) {
  const Config quantization = config.object("quantization_config");
  const std::string method = quantization.text("quant_method", "");
  const bool in_bits =
      quantization.boolean("load_in_4bit", false) || quantization.boolean("load_in_8bit", false);
  if (in_bits || method == "bitsandbytes") return bitsandbytes(quantization);
  if (method == "gptq" || method == "awq")
    return packed(config, quantization, method == "gptq" ? "GPTQ" : "AWQ");
  if (method == "fp8") return float8(config, quantization, gpu);
  if (method == "mxfp4") return mxfp4(quantization, gpu);
  if (method == "compressed-tensors") return compressed_tensors(quantization);
  if (method.empty()) return StoredWeights{};
  return answered_in_16_bits(method, named_bits(quantization));
}

}  // namespace

Result<StoredWeights> stored_weights(const Config& config, const std::optional<Gpu>& gpu) {
  Result<StoredWeights> stored = read(config, gpu);
  if (const Result<void> fine = config.check(); !fine) return tl::unexpected(fine.error());
  return stored;
}

}  // namespace memtape::transformers
