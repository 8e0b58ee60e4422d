// SPDX-License-Identifier: Apache-2.0
// Runtime: what vLLM keeps in globals while a model is built and run: the configuration, the ropes
// that layers share (_ROPE_DICT), the workspace manager, the attention layers that need a KV cache,
// and the modules whose weights are processed after loading. Place is where a module is built: a
// scope of the module tree with the Runtime, and the configuration to which the module belongs,
// which is that of the model or of a drafter beside it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/vllm/kv_spec.h"
#include "framework/vllm/lora.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "nn/module.h"

namespace memtape::vllm {

using ghost::Dims;
using ghost::In;
using ghost::Tensor;

class LinearMethod;
class Quantization;
class RotaryEmbedding;

/// vllm/v1/worker/workspace.py: one scratch buffer for all layers, which grows by being freed and
/// allocated anew, and small buffers that are kept under a key.
class Workspace {
 public:
  /// get_simultaneous(): the parts share the buffer, and each is rounded up to 256 bytes.
  void reserve(std::initializer_list<Bytes> parts);
  /// get_persistent().
  void keep(const std::string& key, Bytes bytes);
  /// Runners before V2 had no such buffer. Their experts allocated scratch memory for as long as a
  /// call took.
  void release() { current_ = {}; }

 private:
  Tensor current_;
  std::map<std::string, Tensor> kept_;
};

class Runtime {
 public:
  Runtime(const Settings& resolved, const Config& model, const Quantization* scheme)
      : settings(resolved), config(model), quantization(scheme) {}

  const Settings& settings;
  const Config& config;
  const Quantization* quantization;
  Workspace workspace;
  std::vector<KvLayer> kv_layers;
  std::map<std::string, std::shared_ptr<RotaryEmbedding>> ropes;
  /// process_weights_after_loading of each module, in the order of model.named_modules(), and then
  /// of the attention layers.
  std::vector<std::function<void()>> after_loading, after_attention;
  /// What runs for a layer once its weights are loaded, such as online quantization.
  std::vector<std::function<void()>> while_loading;
  /// Weights that layers have replaced and to which `load_weights` refers until all are loaded.
  std::vector<Tensor> referred;

  /// Weights in host memory, as they were made (offload.h), and the most of a layer's.
  Bytes offloaded = 0, most_offloaded = 0;

  std::vector<LoraSite> lora_sites;  ///< in the order of the modules

  bool has_metadata = false;  ///< attention runs its kernels, which it does not in the profile run
  /// Whether this is vLLM's profile run, in which attention only takes the room that it may need.
  bool is_profiled() const { return !has_metadata || settings.sglang_layers; }
  bool has_tuned_kernels = false;  ///< Triton tunes a kernel at its first run
  std::deque<std::vector<Tensor>> chunk_indices;
  std::vector<Tensor> kept;  ///< weights that are no longer parameters

  /// current_stream() of utils/torch_utils.py: its first call moves the process to a new stream, on
  /// which no memory of the old stream is used again. If a group has several ranks, it was called
  /// before.
  void use_own_stream();

  const Parallel& parallel() const { return settings.parallel; }
  int tp() const { return settings.parallel.tp; }
  DType dtype() const { return settings.dtype; }

 private:
  bool has_own_stream_ = false;
};

/// Where a module is built.
class Place {
 public:
  Place(Runtime& runtime, const nn::Scope& scope, std::string prefix)
      : Place(runtime, scope, std::move(prefix), runtime.config, runtime.quantization) {}
  /// For a module of another checkpoint, a drafter's.
  Place(Runtime& runtime, const nn::Scope& scope, std::string prefix, const Config& config,
        const Quantization* quantization)
      : runtime_(&runtime),
        config_(&config),
        quantization_(quantization),
        scope_(scope),
        prefix_(std::move(prefix)) {}

  Place operator/(std::string_view child) const {
    return {*runtime_, scope_ / child,
            prefix_.empty() ? std::string(child) : prefix_ + "." + std::string(child), *config_,
            quantization_};
  }
  Place operator/(std::int64_t index) const { return *this / std::to_string(index); }

  Runtime& runtime() const { return *runtime_; }
  const Settings& settings() const { return runtime_->settings; }
  const Config& config() const { return *config_; }
  const Quantization* quantization() const { return quantization_; }
  const nn::Scope& scope() const { return scope_; }
  /// The path of the module: "model.layers.0.self_attn.qkv_proj".
  const std::string& prefix() const { return prefix_; }
  std::string name() const { return prefix_.substr(prefix_.rfind('.') + 1); }  ///< "qkv_proj"
  /// The ranks that a module here is cut over.
  int tp() const {
    const bool of_attention = prefix_.find("self_attn") != std::string::npos ||
                              prefix_.find("embed_tokens") != std::string::npos;
    return of_attention ? runtime_->parallel().attention_tp() : runtime_->tp();
  }
  /// A parameter in the model's dtype, or in another one.
  Tensor parameter(std::string_view name, const Dims& sizes) const {
    return scope_.parameter(name, sizes, runtime_->dtype());
  }
  Tensor parameter(std::string_view name, const Dims& sizes, DType dtype) const {
    return scope_.parameter(name, sizes, dtype);
  }

 private:
  Runtime* runtime_;
  const Config* config_;
  const Quantization* quantization_;
  nn::Scope scope_;
  std::string prefix_;
};

/// The weights of one module by name, as its parameters in the module tree. A weight that is
/// replaced is freed.
class Weights {
 public:
  explicit Weights(const Place& place) : place_(place) {}

  const Settings& settings() const { return place_.settings(); }
  Tensor create(std::string_view name, const Dims& sizes, DType dtype) {
    return place_.parameter(name, sizes, dtype);
  }
  Tensor get(std::string_view name) const;
  void replace(std::string_view name, const Tensor& tensor);
  void drop(std::string_view name);

 private:
  Place place_;
};

}  // namespace memtape::vllm
