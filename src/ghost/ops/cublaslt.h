// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace memtape::ghost {

/// The workspaces of a product whose bias cublasLt adds, made on their first use.
void use_cublaslt();

}  // namespace memtape::ghost
