// SPDX-License-Identifier: Apache-2.0
// TensorList: the tensors of a checkpoint as its header lists them, with names, dtypes and shapes
// but without data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"

namespace memtape {

struct StoredTensor {
  std::string name;
  std::string dtype;  ///< as the file spells it: "BF16"
  std::vector<std::int64_t> shape;
  Bytes bytes = 0;

  /// The dtype under torch's name, or nothing for formats that `DType` does not have.
  std::optional<DType> torch_dtype() const { return dtype_from_name(dtype); }

  std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : shape) product *= size;
    return product;
  }
};

struct TensorList {
  std::vector<StoredTensor> tensors;

  Bytes total_bytes() const {
    Bytes total = 0;
    for (const StoredTensor& tensor : tensors) total += tensor.bytes;
    return total;
  }

  std::int64_t total_elements() const {
    std::int64_t total = 0;
    for (const StoredTensor& tensor : tensors) total += tensor.elements();
    return total;
  }
};

}  // namespace memtape
