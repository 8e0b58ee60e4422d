// SPDX-License-Identifier: Apache-2.0
// Numbers as people type them: "24GiB" and "80GB" are sizes, "8k" and "1M" are counts of tokens,
// and "7B" is a count of parameters. Numbers without a unit mean themselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape {

/// Digits, with a minus before them: nothing else.
std::optional<std::int64_t> whole_number(std::string_view text);

/// A finite number, as Python's float() reads it: "2e-5", ".5", "-1".
std::optional<double> real_number(std::string_view text);

/// human_readable_int of vLLM and SGLang: "8k" is 8000, "8K" 8192, "1.5k" 1500. Nothing where there
/// is no unit, or no number before it.
std::optional<std::int64_t> typed_count(std::string_view text);

/// Whether another program's parser may take the text as a number: one, a count with a unit, or a
/// variable that the shell puts in.
bool may_be_number(std::string_view text, bool is_whole);

/// GiB, Gi and G are 2^30 and GB is 10^9; K, M and T work the same way, and case is ignored. The
/// result is nothing if the text is no such size, is negative or does not fit into 63 bits.
std::optional<Bytes> typed_bytes(std::string_view text);

/// k is 1024 and M is 1024 * 1024. This is for tokens, which people count in powers of two.
std::optional<std::int64_t> typed_tokens(std::string_view text);

/// K, M, B and T are 10^3, 10^6, 10^9 and 10^12. This is for parameters.
std::optional<std::int64_t> typed_parameters(std::string_view text);

/// A size that people mean in GiB where they leave the unit out: 24, but not 0.
constexpr bool is_without_unit(Bytes bytes) { return bytes > 0 && bytes < Bytes{1} << 20; }
tl::unexpected<Error> no_unit(std::string_view option, Bytes bytes);

}  // namespace memtape
