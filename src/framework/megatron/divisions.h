// SPDX-License-Identifier: Apache-2.0
// What must divide what where Megatron-LM spreads a model over GPUs (megatron/training/arguments.py,
// validate_args; core/parallel_state.py), and what each division leaves.
#pragma once

#include <string_view>

#include "framework/megatron/arguments.h"
#include "workload/layout_recipe.h"

namespace memtape::megatron {

/// "30 layers do not divide by --pp 4", with the sizes that would.
tl::unexpected<Error> indivisible(std::string_view what, std::int64_t n, std::string_view by,
                                  std::int64_t size);

/// The GPUs over the parallel sizes: sets the data parallel size.
Result<void> divide_gpus(Arguments& a);

/// What forward_backward_pipelining_with_interleaving refuses: groups of micro-batches that are
/// shorter than the pipeline.
Result<void> check_interleaving(const Arguments& a);

/// What the options of every framework say of data parallelism, beside what was read.
Result<void> check_data_parallel(const LayoutRecipe& layout, const Arguments& a);

}  // namespace memtape::megatron
