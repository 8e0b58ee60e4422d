// SPDX-License-Identifier: Apache-2.0
// Every option of train and serve as data, for what is made of it: completions, the Python package,
// schemas of requests.
#pragma once

#include <string>

namespace memtape::answer {

std::string options_json();

}  // namespace memtape::answer
