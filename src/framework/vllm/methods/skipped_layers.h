// SPDX-License-Identifier: Apache-2.0
// Which layers a checkpoint leaves as they are. An entry names a layer, or the start or the end of
// its path, or is a pattern. A fused layer is left alone when its parts are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtape::vllm {

/// A checkpoint's path of a layer as vLLM renames it (apply_vllm_mapper of the quantization's
/// configuration; hf_to_vllm_mapper of gemma4_mm.py, qwen3_vl.py, nemotron_h.py), where the text
/// model is the root.
std::string path_of_text(const std::string& name);

/// The path of the first part of a fused layer (packed_modules_mapping); empty where it is none.
std::string first_part_of(std::string_view path);

class Skipped {
 public:
  explicit Skipped(std::vector<std::string> names);
  bool has(const std::string& prefix) const;

 private:
  bool names(const std::string& layer) const;

  std::vector<std::string> names_;
};

}  // namespace memtape::vllm
