// SPDX-License-Identifier: Apache-2.0
// What the import of torch._dynamo leaves on the device that `with torch.device(...)` names.
#pragma once

namespace memtape::torch {

/// For models during whose construction transformers imports torch._dynamo. The import tries its
/// operators on tensors of one element, and the product of two of these takes cuBLAS's workspace
/// before the model exists.
void import_dynamo_on_device();

}  // namespace memtape::torch
