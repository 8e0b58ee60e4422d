// SPDX-License-Identifier: Apache-2.0
// --group.field VALUE of a JSON argument: "--compilation-config.mode 3"
// (vllm/utils/argparse_utils.py, FlexibleArgumentParser).
#pragma once

#include <string>
#include <vector>

namespace memtape {

/// The words in which `--group {"field": VALUE}` stands for such, with the fields of one group
/// together.
std::vector<std::string> with_dots_opened(const std::vector<std::string>& words);

}  // namespace memtape
