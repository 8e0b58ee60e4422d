// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/import_dynamo.h"

#include "ghost/ops/creation.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"
#include "release/torch_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::torch {

/// torch/_dynamo/variables/torch_function.py:populate_builtin_to_tensor_fn_map of torch 2.6. The
/// other operators' results are gone one after the other, as small as these.
void import_dynamo_on_device() {
  const bool tries_operators = ghost::has(changes::kDynamoTriesOperators) &&
                               !ghost::has(changes::kDynamoTriesOperatorsLater);
  const bool imports_here =
      ghost::has(changes::kModelsImportDynamo) && !ghost::has(changes::kDynamoIsImportedBefore);
  if (!tries_operators || !imports_here) return;
  const ghost::Tensor inp0 = ghost::ones({1}, DType::float32);
  const ghost::Tensor inp1 = ghost::ones({1}, DType::float32);
  const ghost::Tensor inp0_int = ghost::ones({1}, DType::int32);
  const ghost::Tensor inp1_int = ghost::ones({1}, DType::int32);
  const ghost::Tensor product = ghost::empty({}, DType::float32);
  ghost::use_cublas();
}

}  // namespace memtape::torch
