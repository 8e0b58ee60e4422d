// SPDX-License-Identifier: Apache-2.0
#include "model/stored_dtype.h"

namespace memtape {

Result<DType> stored_dtype(const Config& config) {
  if (config.has("text_config"))
    if (const Result<DType> of_text = stored_dtype(config.object("text_config")); !of_text)
      return of_text;
  const bool is_old = !config.has("dtype");
  const std::string name = config.optional_text({"dtype", "torch_dtype"}).value_or("float32");
  const std::optional<DType> held = dtype_from_name(name);
  if (held) return *held;
  return bad_input("\"" + name + "\" is not a type",
                   config.where() + (is_old ? ": torch_dtype" : ": dtype"),
                   "bfloat16, float16 or float32");
}

}  // namespace memtape
