// SPDX-License-Identifier: Apache-2.0
// Changes the case of ASCII letters, so that names can be compared.
#pragma once

#include <string>

namespace memtape {

std::string lower_case(std::string text);
std::string upper_case(std::string text);

}  // namespace memtape
