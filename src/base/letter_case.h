// SPDX-License-Identifier: Apache-2.0
// Letters of ASCII in one case, as names are compared.
#pragma once

#include <string>

namespace memtape {

std::string lower_case(std::string text);
std::string upper_case(std::string text);

}  // namespace memtape
