// SPDX-License-Identifier: Apache-2.0
// One value out of an answer, for callers without a JSON reader: "ranks.0.peak_device_bytes".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace memtape::answer {

std::optional<std::int64_t> integer_at(std::string_view json, std::string_view path);
std::optional<std::string> text_at(std::string_view json, std::string_view path);

}  // namespace memtape::answer
