// SPDX-License-Identifier: Apache-2.0
// The buffers of Megatron's DistributedDataParallel: all gradients of one kind of parameter in one
// piece of memory, and with the distributed optimizer all parameters, too
// (megatron/core/distributed/param_and_grad_buffer.py, megatron/core/optimizer/param_layout.py).
//
//   | param n | pad to 64 | param n-1 | ... | pad to lcm(dp, 128) || next bucket ...
//   parameters in reverse order, as their gradients arrive; each bucket is cut into dp equal shards
#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/megatron/arguments.h"
#include "framework/megatron/function.h"

namespace memtape::megatron {

struct Parameter {
  Tensor tensor;
  bool expert = false;            ///< reduced over the expert data parallel ranks
  bool shared_embedding = false;  ///< on the first and the last stage
  bool copy = false;              ///< the last stage's of the first stage's embedding
  bool whole = false;             ///< on every tensor parallel rank
  bool replica = false;           ///< whole on this tensor parallel rank, as it is on the first
  bool decays = true;             ///< weight decay: not for biases and norms
  bool matrix = false;            ///< Muon's: two dimensions, no embedding
  bool fp8 = false;               ///< held in fp8 alone (--fp8-param-gather)
};

/// Elements [from, to).
struct Range {
  std::int64_t from = 0, to = 0;
};

/// Where parameters lie in a buffer.
struct BufferLayout {
  std::vector<Range> parameters;  ///< in the order given
  std::vector<Range> buckets;
  std::int64_t elements = 0;
};

struct BufferOptions {
  std::int64_t ranks = 1;                                  ///< that share it
  std::optional<std::int64_t> bucket_size = std::nullopt;  ///< in elements; none: one bucket
  bool distributed_optimizer = false, pad_for_high_nccl_busbw = false;
};

BufferLayout lay_out(std::span<const Parameter> parameters, const BufferOptions& options);

/// The elements of each parameter that shard `rank` of its bucket holds; empty where it holds none.
std::vector<Range> shards(const BufferLayout& layout, std::int64_t ranks, std::int64_t rank);

/// Parameters of one kind and their memory.
struct ParamAndGradBuffer {
  std::vector<Parameter> parameters;
  BufferLayout layout;
  BufferOptions options;
  Tensor param_data, grad_data;
};

/// Allocates the buffers of one model chunk and moves its parameters into them.
std::vector<ParamAndGradBuffer> make_buffers(const Arguments& a, std::vector<Parameter> parameters,
                                             bool first_chunk);

/// finalize_model_grads of distributed/finalize_model_grads.py: with sequence parallelism gradients
/// of what each tensor parallel rank holds whole are summed up as one flat tensor.
void sum_whole_gradients(const Arguments& a, const std::vector<ParamAndGradBuffer>& buffers);

}  // namespace memtape::megatron
