// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/fit.h"

#include <algorithm>

#include <fmt/format.h>

namespace memtape::llamacpp {
namespace {

class Search {
 public:
  Search(const Model& model, const Settings& settings, std::vector<Bytes> rooms, Freedom freedom)
      : model_(model),
        settings_(settings),
        rooms_(std::move(rooms)),
        freedom_(freedom),
        layers_(model.hp.n_layer_all + 1) {}

  Result<Fitted> run() {
    const std::int64_t most = freedom_.layers ? layers_ : settings_.n_gpu_layers;
    if (Result<void> tried = ask(most, 0); !tried) return tl::unexpected(tried.error());
    if (!fits_ && freedom_.context)
      if (Result<void> tried = shorten(most); !tried) return tl::unexpected(tried.error());
    if (!fits_ && freedom_.layers)
      if (Result<void> tried = leave_layers(); !tried) return tl::unexpected(tried.error());
    if (Result<void> whole = add_graphs(); !whole) return tl::unexpected(whole.error());
    found_.note = note();
    return std::move(found_);
  }

 private:
  /// Down to --fit-ctx tokens, in steps of the cache's padding.
  Result<void> shorten(std::int64_t layers) {
    constexpr std::int64_t kShortest = 4096, kStep = 256;
    const std::int64_t full = found_.memory.sizes.n_ctx;
    if (full <= kShortest) return {};
    return least(1, (full - kShortest) / kStep + 1, [&](std::int64_t steps) {
      settings_.n_ctx = full - steps * kStep;
      return ask(layers, 0);
    });
  }

  Result<void> leave_layers() {
    if (model_.hp.n_expert > 0) {
      auto fewest = least(1, layers_, [&](std::int64_t n) { return ask(layers_, n); });
      if (!fewest || fits_) return fewest;
    }
    const std::int64_t experts = model_.hp.n_expert > 0 ? layers_ - 1 : 0;
    return least(1, layers_ + 1, [&](std::int64_t out) { return ask(layers_ - out, experts); });
  }

  /// The least of [from, end) for which `ask` fits; the last answer is that of it, or of the last.
  template <class Ask>
  Result<void> least(std::int64_t from, std::int64_t end, Ask ask) {
    std::int64_t low = from, high = end;
    std::int64_t last = from - 1;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (Result<void> tried = ask(last = middle); !tried) return tried;
      if (fits_)
        high = middle;
      else
        low = middle + 1;
    }
    const std::int64_t least = std::min(low, end - 1);
    return least == last ? Result<void>() : ask(least);
  }

  Result<void> ask(std::int64_t layers, std::int64_t experts_out) {
    found_.settings = settings_;
    found_.settings.n_gpu_layers = layers;
    found_.settings.n_cpu_moe = std::max(settings_.n_cpu_moe, experts_out);
    // Most tries have no room for their weights alone.
    Result<ServerMemory> memory = weights_and_caches(model_, found_.settings);
    if (!memory) return tl::unexpected(memory.error());
    found_.memory = *std::move(memory);
    has_graphs_ = false;
    fits_ = has_room();
    if (!fits_) return {};
    Result<void> whole = add_graphs();
    fits_ = has_room();
    return whole;
  }

  Result<void> add_graphs() {
    if (has_graphs_) return {};
    Result<ServerMemory> memory = server_memory(model_, found_.settings);
    if (!memory) return tl::unexpected(memory.error());
    found_.memory = *std::move(memory);
    has_graphs_ = true;
    return {};
  }

  bool has_room() const {
    for (std::size_t gpu = 0; gpu < rooms_.size(); ++gpu) {
      const BufferBytes& b = found_.memory.buffers[gpu];
      if (b.model + b.context + b.compute > rooms_[gpu]) return false;
    }
    return true;
  }

  std::string note() const {
    const Settings& s = found_.settings;
    std::string flags =
        fmt::format("--ctx-size {} --n-gpu-layers {}", found_.memory.sizes.n_ctx, s.n_gpu_layers);
    if (s.n_cpu_moe > 0) flags += fmt::format(" --n-cpu-moe {}", s.n_cpu_moe);
    if (!fits_) return fmt::format("not even without layers on the GPU: {}", flags);
    std::string what =
        fmt::format("{} of {} layers on the GPU", std::min(s.n_gpu_layers, layers_), layers_);
    if (s.n_cpu_moe > 0) what += fmt::format(", the experts of {} not", s.n_cpu_moe);
    return fmt::format("{}: {}", what, flags);
  }

  const Model& model_;
  Settings settings_;
  const std::vector<Bytes> rooms_;  ///< by GPU
  const Freedom freedom_;
  const std::int64_t layers_;  ///< the output counts as one
  Fitted found_;
  bool fits_ = false;
  bool has_graphs_ = false;  ///< whether `found_.memory` counts compute buffers
};

}  // namespace

Result<Fitted> fit(const Model& model, const Settings& settings, std::vector<Bytes> rooms,
                   Freedom freedom) {
  return Search(model, settings, std::move(rooms), freedom).run();
}

}  // namespace memtape::llamacpp
