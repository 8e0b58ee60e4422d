// SPDX-License-Identifier: Apache-2.0
// The buffers of Megatron's DistributedDataParallel: all gradients of one kind of parameter lie in
// one piece of memory and, with the distributed optimizer, so do all parameters
// (megatron/core/distributed/param_and_grad_buffer.py, megatron/core/optimizer/param_layout.py).
//
//   | param n | pad to 64 | param n-1 | ... | pad to lcm(dp, 128) || next bucket ...
//
// Parameters lie in reverse order, because their gradients arrive so. Each bucket is divided into
// dp equal shards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"

namespace memtape::megatron {

struct Parameter {
  Tensor tensor;
  bool expert = false;            ///< it is reduced over the expert data parallel ranks
  bool shared_embedding = false;  ///< it is on the first and on the last stage
  bool copy = false;              ///< the last stage's copy of the first stage's embedding
  bool whole = false;             ///< every tensor parallel rank has the whole of it
  bool replica = false;    ///< this tensor parallel rank has the whole of it, as the first one has
  bool decays = true;      ///< it has weight decay, unlike biases and norms
  bool matrix = false;     ///< for Muon: it has two dimensions and is no embedding
  bool quantized = false;  ///< it is held only in 8 or 4 bits (--fp8-param-gather)
};

/// The elements [from, to).
struct Range {
  std::int64_t from = 0, to = 0;
};

/// Where parameters lie in a buffer.
struct BufferLayout {
  std::vector<Range> parameters;  ///< in the given order
  std::vector<Range> buckets;
  std::int64_t elements = 0;
};

struct BufferOptions {
  std::int64_t ranks = 1;  ///< the ranks that share it
  /// In elements; if it is not set, there is one bucket.
  std::optional<std::int64_t> bucket_size = std::nullopt;
  bool distributed_optimizer = false, pad_for_high_nccl_busbw = false;
};

BufferLayout lay_out(std::span<const Parameter> parameters, const BufferOptions& options);

/// For each parameter, its elements in shard `rank` of its bucket. The range is empty if the shard
/// holds none.
std::vector<Range> shards(const BufferLayout& layout, std::int64_t ranks, std::int64_t rank);

/// The parameters of one kind, and their memory.
struct ParamAndGradBuffer {
  std::vector<Parameter> parameters;
  BufferLayout layout;
  BufferOptions options;
  Tensor param_data, grad_data;
};

/// Allocates the buffers of one model chunk and moves its parameters into them.
std::vector<ParamAndGradBuffer> make_buffers(const Arguments& a, std::vector<Parameter> parameters,
                                             bool first_chunk);

/// finalize_model_grads of distributed/finalize_model_grads.py: with sequence parallelism, the
/// gradients of parameters that every tensor parallel rank holds as a whole are summed up as one
/// flat tensor.
void sum_whole_gradients(const Arguments& a, const std::vector<ParamAndGradBuffer>& buffers);

}  // namespace memtape::megatron
