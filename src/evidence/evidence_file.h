// SPDX-License-Identifier: Apache-2.0
// A file from a real run, by its bytes: what it is, what it holds, and its part of an explanation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/byte_stream.h"
#include "evidence/explanation.h"

namespace memtape {

enum class EvidenceKind : unsigned char { pickle, trace, text };

/// How many of a file's first bytes tell what it is.
inline constexpr std::size_t kEvidenceHead = 256;

/// What the file `name`, which begins with `head`, is.
Result<EvidenceKind> evidence_kind(std::string_view head, const std::string& name);

/// The rest of `stream`, which is refused beyond `limit` bytes.
Result<std::string> rest_of(ByteStream& stream, std::size_t limit, const std::string& name);

/// Of a pickle or a trace: one recording for each device.
Result<std::vector<Recording>> recordings_in(ByteStream& stream, EvidenceKind kind,
                                             const std::string& name);

/// Adds what a message or a log says.
Result<void> explain_text(std::string_view text, const std::string& name, Explanation& e);

/// Adds recordings: all of them, or those of `device`.
Result<void> explain_recordings(std::vector<Recording> recordings,
                                std::optional<std::int64_t> device, const std::string& name,
                                Explanation& e);

/// Explanation::kind, where the first file is a `first`.
std::string explanation_kind(const Explanation& e, EvidenceKind first);

}  // namespace memtape
