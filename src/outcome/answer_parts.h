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
  bool of_one_rank = false;  ///< the counts are not those of the whole model
};

/// Resolved options in order, with every default spelled out. The value is a JSON scalar: null, a
/// bool, an integer, a number or a text.
struct Setting {
  std::string name;
  std::string json_value;  ///< JSON text
};

struct DeviceSummary {
  std::string name;       ///< "NVIDIA H100 80GB HBM3"
  std::string id;         ///< the id in the catalog: "h100-80gb"
  Bytes total_bytes = 0;  ///< the total that cudaMemGetInfo reports
  Bytes context_bytes = 0;
  std::string source;  ///< where the two figures come from
};

struct Bounds {
  Bytes low_bytes = 0, high_bytes = 0;
  std::vector<std::string> causes;
  /// False: nobody knows how much more than `high_bytes` it could be.
  bool has_upper_end = true;
};

struct Advice {
  std::string change;  ///< the options that change
  /// The whole command with these options, so that it can be pasted; "" if none is known.
  std::string command;
  Bytes peak_device_bytes = 0;  ///< what is needed with the change
  std::string cost;
  bool fits = true;         ///< it fits with the change; if not, it needs less but still too much
  bool gives_back = false;  ///< it fits only because cached segments go back to the driver
};

}  // namespace memtape
