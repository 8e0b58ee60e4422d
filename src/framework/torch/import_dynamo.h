// SPDX-License-Identifier: Apache-2.0
// What importing torch._dynamo leaves on the device that `with torch.device(...)` names.
#pragma once

namespace memtape::torch {

/// Where transformers imports torch._dynamo as it makes the model: its operators are tried on
/// tensors of one element, and the product of two takes cuBLAS's workspace before the model is
/// there.
void import_dynamo_on_device();

}  // namespace memtape::torch
