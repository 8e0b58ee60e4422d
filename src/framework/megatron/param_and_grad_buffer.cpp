// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/param_and_grad_buffer.h"

#include <algorithm>
#include <numeric>

namespace memtape::megatron {
namespace {

std::int64_t padded(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor * divisor;
}

class LayoutBuilder {
 public:
  explicit LayoutBuilder(const BufferOptions& options) : options_(options) {}

  /// Adds a parameter of `elements`; an embedding that two stages share has a bucket of its own.
  Range add(std::int64_t elements, bool alone) {
    constexpr std::int64_t kAlignment = 64;
    std::int64_t from = options_.distributed_optimizer ? padded(end_, kAlignment) : end_;
    if (alone && open_) {
      end_ = from;
      close();
      from = end_;
    }
    open_ = true;
    end_ = from + elements;
    if (alone || (options_.bucket_size && end_ - bucket_ >= *options_.bucket_size)) close();
    return {from, from + elements};
  }

  void close() {
    if (options_.distributed_optimizer) {
      std::int64_t divisor = std::lcm(options_.ranks, std::int64_t{128});
      if (options_.pad_for_high_nccl_busbw) divisor = std::lcm(divisor, std::int64_t{1} << 16);
      end_ = padded(end_, divisor);
    }
    buckets_.push_back({bucket_, end_});
    bucket_ = end_;
    open_ = false;
  }
  bool open() const { return open_; }
  std::vector<Range> take_buckets() { return std::move(buckets_); }
  std::int64_t end() const { return end_; }

 private:
  const BufferOptions& options_;
  std::int64_t end_ = 0, bucket_ = 0;
  bool open_ = false;
  std::vector<Range> buckets_;
};

BufferOptions options_for(const Arguments& a, bool expert, bool first_chunk) {
  const std::int64_t all = expert ? a.gpus / (a.etp * a.ep * a.pp) : a.dp * a.cp;
  BufferOptions options{.ranks = all,
                        .bucket_size = std::nullopt,
                        .distributed_optimizer = a.use_distributed_optimizer,
                        .pad_for_high_nccl_busbw = a.pad_buckets_for_high_nccl_busbw};
  if (all % a.num_distributed_optimizer_instances == 0)
    options.ranks = all / a.num_distributed_optimizer_instances;
  // Other chunks and stages are not cut: their gradients arrive while others are computed.
  if (a.overlap_grad_reduce && first_chunk)
    options.bucket_size =
        a.bucket_size.value_or(std::max<std::int64_t>(40'000'000, 1'000'000 * a.dp * a.cp));
  return options;
}

void allocate(const Arguments& a, ParamAndGradBuffer& buffer) {
  const ghost::Op op("zeros", {});
  if (a.use_distributed_optimizer) {
    const bool quantized = buffer.parameters.front().quantized;
    // Two elements of nvfp4 share a byte (_compute_nvfp4_packed_layout).
    const std::int64_t in_one = quantized && a.packs() ? 2 : 1;
    buffer.param_data =
        ghost::empty({buffer.layout.elements / in_one}, quantized ? DType::uint8 : a.params_dtype,
                     Category::parameter);
  }
  buffer.grad_data =
      ghost::empty({buffer.layout.elements},
                   a.grad_reduce_in_fp32 ? DType::float32 : a.params_dtype, Category::gradient);
  if (!buffer.param_data.defined()) return;
  for (const Parameter& parameter : buffer.parameters)
    parameter.tensor.impl().storage = buffer.param_data.impl().storage;
}

}  // namespace

BufferLayout lay_out(std::span<const Parameter> parameters, const BufferOptions& options) {
  BufferLayout layout;
  layout.parameters.resize(parameters.size());
  LayoutBuilder builder(options);
  for (std::size_t i = parameters.size(); i-- > 0;)
    layout.parameters[i] =
        builder.add(parameters[i].tensor.numel(),
                    parameters[i].shared_embedding && options.distributed_optimizer);
  if (builder.open()) builder.close();
  layout.elements = builder.end();
  layout.buckets = builder.take_buckets();
  return layout;
}

std::vector<Range> shards(const BufferLayout& layout, std::int64_t ranks, std::int64_t rank) {
  std::vector<Range> held(layout.parameters.size());
  std::size_t i = held.size();  // parameters lie in reverse order, each within one bucket
  for (const Range& bucket : layout.buckets) {
    const std::int64_t each = (bucket.to - bucket.from) / ranks;
    const Range shard{bucket.from + rank * each, bucket.from + (rank + 1) * each};
    for (; i > 0 && layout.parameters[i - 1].from < bucket.to; --i) {
      const Range& parameter = layout.parameters[i - 1];
      const Range common{std::max(parameter.from, shard.from), std::min(parameter.to, shard.to)};
      if (common.from < common.to) held[i - 1] = common;
    }
  }
  return held;
}

std::vector<ParamAndGradBuffer> make_buffers(const Arguments& a, std::vector<Parameter> parameters,
                                             bool first_chunk) {
  std::vector<ParamAndGradBuffer> buffers;
  for (const bool expert : {false, true})
    for (const bool quantized : {true, false}) {
      ParamAndGradBuffer buffer;
      for (const Parameter& parameter : parameters)
        if (parameter.expert == expert && parameter.quantized == quantized)
          buffer.parameters.push_back(parameter);
      if (buffer.parameters.empty()) continue;
      buffer.options = options_for(a, expert, first_chunk);
      buffer.layout = lay_out(buffer.parameters, buffer.options);
      allocate(a, buffer);
      buffers.push_back(std::move(buffer));
    }
  return buffers;
}

void sum_whole_gradients(const Arguments& a, const std::vector<ParamAndGradBuffer>& buffers) {
  if (a.tp == 1 || !a.sequence_parallel) return;
  std::int64_t elements = 0;
  for (const ParamAndGradBuffer& buffer : buffers)
    for (const Parameter& parameter : buffer.parameters)
      if (parameter.whole) elements += parameter.tensor.numel();
  if (elements == 0) return;
  const ghost::Op op("_flatten_dense_tensors", {});
  const Tensor coalesced =
      ghost::empty({elements}, buffers.front().grad_data.dtype(), Category::communication);
}

}  // namespace memtape::megatron
