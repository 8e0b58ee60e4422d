// SPDX-License-Identifier: Apache-2.0
// compare_serve: one server on several GPUs and with several quantizations, each answered exactly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/serve.h"

namespace memtape {

struct ComparedServer {
  std::string gpu;       ///< id in the catalog
  std::string quantize;  ///< value of --quantize; "" if none was named
  std::optional<ServeAnswer> answer;
  std::string failure;  ///< why there is no answer
  VerdictWord verdict() const {
    return answer ? answer->verdict.value_or(VerdictWord::fits) : VerdictWord::does_not_fit;
  }
  bool fits(bool strict = false) const {
    return answer &&
           (verdict() == VerdictWord::fits || (!strict && verdict() == VerdictWord::may_not_fit));
  }
};

struct Comparison {
  std::vector<ComparedServer> servers;  ///< every GPU with every quantization, in the order given
  /// The server to take: the smallest GPU that fits, with the largest weights that fit there.
  std::optional<std::size_t> winner;
};

/// If `quantizations` is empty, each server is quantized as the request says.
Comparison compare_serve(const ServeEngine& engine, const ServeRequest& request,
                         const std::vector<Gpu>& gpus,
                         const std::vector<std::string>& quantizations, bool strict = false);

}  // namespace memtape
