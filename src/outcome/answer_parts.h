// SPDX-License-Identifier: Apache-2.0
// The parts that a training answer and a serving answer share, in the words of the JSON contract
// (docs/json.md, schema "memtape/1").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace memtape {

struct ModelSummary {
  std::string id;      ///< as the user named it
  std::string family;  ///< model_type
  std::int64_t parameters = 0, trainable_parameters = 0;
  Bytes weight_bytes = 0;
  bool of_one_rank = false;  ///< the counts are not the whole model's
};

/// Resolved options in order, every default spelled out. The value is a JSON scalar: null, bool,
/// integer, number or text.
struct Setting {
  std::string name;
  std::string json_value;  ///< already encoded as JSON
};

struct DeviceSummary {
  std::string name;       ///< "NVIDIA H100 80GB HBM3"
  std::string id;         ///< catalog id, "h100-80gb"
  Bytes total_bytes = 0;  ///< what cudaMemGetInfo reports as total
  Bytes context_bytes = 0;
  std::string source;  ///< where the two figures come from
};

struct Bounds {
  Bytes low_bytes = 0, high_bytes = 0;
  std::vector<std::string> causes;
};

struct Advice {
  std::string change;  ///< options alone
  std::string
      command;  ///< the whole command with them, as it can be pasted; "" where none is known
  Bytes peak_device_bytes = 0;  ///< what is needed then
  std::string cost;
  bool fits = true;         ///< with it; else it needs less, but still too much
  bool gives_back = false;  ///< it fits because cached segments go back
};

}  // namespace memtape
