// SPDX-License-Identifier: Apache-2.0
#include "report/why.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::report {
namespace {

/// "model.layers.3.mlp", or what stands for the root of the module tree.
std::string_view place_of_module(std::string_view module) {
  return module.empty() ? "the top level" : module;
}

/// What the op made, in words: its output, or the copy in another dtype that autocast, `.to()` and
/// `.float()` make.
std::string product(const Why& why) {
  const std::string_view op = why.op;
  if (op == "_to_copy") return fmt::format("{} copy of a tensor", name(why.dtype));
  if (op == "clone") return "copy made by clone";
  if (op.empty()) return "tensor";
  return fmt::format("output of {}", op);
}

/// In the forward pass `node` is what keeps the tensor; in the backward pass it is the node that
/// runs, and an activation made there was computed again (checkpointing).
std::string activation(const Why& why, std::string_view module) {
  const std::string_view node = why.node;
  if (why.phase == Phase::backward)
    return fmt::format("{}, computed again for the backward pass of {}", product(why),
                       place_of_module(module));
  if (node.empty())
    return fmt::format("{}, kept for the backward pass of {}", product(why),
                       place_of_module(module));
  return fmt::format("{}, kept for {} until backward reaches {}", product(why), node,
                     place_of_module(module));
}

std::string temporary(const Why& why, std::string_view module) {
  const std::string_view node = why.node;
  if (!node.empty() && why.phase == Phase::backward)
    return fmt::format("{} inside {}, freed when that node is done", product(why), node);
  if (why.phase == Phase::optimizer)
    return fmt::format("{} during the optimizer step", product(why));
  return fmt::format("{} in {}, freed when its last user is done", product(why),
                     place_of_module(module));
}

std::string autograd_detail(const Why& why, std::string_view module) {
  const std::string_view node = why.node;
  if (node.empty())
    return fmt::format("gradient on its way back through {}", place_of_module(module));
  return fmt::format("gradient made by {}, on its way back through {}", node,
                     place_of_module(module));
}

std::string made_by(const Why& why, std::string_view module) {
  const std::string_view op = why.op;
  return op.empty() ? fmt::format("made in {}", place_of_module(module))
                    : fmt::format("made by {} in {}", op, place_of_module(module));
}

}  // namespace

std::string why_sentence(const Why& why, std::string_view module) {
  switch (why.category) {
    case Category::parameter: return "parameter, held throughout";
    case Category::buffer: return "buffer of the model, held throughout";
    case Category::optimizer_state:
      return "optimizer state, made in the first step and held from then on";
    case Category::gradient: return "gradient, from its backward pass until zero_grad";
    case Category::activation: return activation(why, module);
    case Category::input: return "input of the step, held by the program";
    case Category::temporary: return temporary(why, module);
    case Category::autograd_detail: return autograd_detail(why, module);
    case Category::kv_cache:
      return fmt::format("keys and values of past tokens in {}", place_of_module(module));
    case Category::communication:
      return fmt::format("{}, to exchange data between GPUs", made_by(why, module));
    case Category::workspace: return "workspace of the kernel library, held from its first use on";
    case Category::cuda_graph: return fmt::format("{}, held by a CUDA graph", made_by(why, module));
    case Category::context: return "CUDA context and loaded kernels, outside the allocator";
    case Category::unknown: break;
  }
  return made_by(why, module);
}

std::string shape_and_dtype(const DisplayShape& shape, DType dtype) {
  const auto* dims = shape.dims.data();
  return fmt::format("[{}] {}", fmt::join(dims, dims + shape.rank, ", "), name(dtype));
}

}  // namespace memtape::report
