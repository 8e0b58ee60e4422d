// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace memtape::ghost {

/// Allocates the workspaces that cublasLt needs for a product to which it adds the bias. Only the
/// first call allocates.
void use_cublaslt();

}  // namespace memtape::ghost
