// SPDX-License-Identifier: Apache-2.0
#include "evidence/server_oom.h"

#include <algorithm>

namespace memtape {
namespace {

using ServerWording = OomMessage::Wording;
constexpr std::size_t kLongest = 1500;

std::optional<std::int64_t> whole_after(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  return at == text.npos ? std::nullopt : whole_at(text.substr(at + phrase.size()));
}

/// Tokens of one request; a damaged log that states none of them states no length.
std::optional<std::int64_t> length_after(std::string_view text, std::string_view phrase) {
  const auto length = whole_after(text, phrase);
  return length && *length > 0 ? length : std::nullopt;
}

std::optional<double> number_after(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  return at == text.npos ? std::nullopt : number_at(text.substr(at + phrase.size()));
}

/// "(262144), (24.0 GiB KV cache is needed, which is larger than the available KV cache memory
/// (3.18 GiB). Based on the available memory, the estimated maximum model length is 34736."
OomMessage kv_bytes(std::string_view rest) {
  OomMessage m;
  m.server = "vllm";
  m.wording = ServerWording::vllm_kv_bytes;
  m.model_length = length_after(rest, "max seq len (");
  if (const std::size_t at = rest.find("), ("); at != rest.npos)
    m.cache_needed = quantity_at(rest.substr(at + 4));
  m.cache_available = quantity_after(rest, "available KV cache memory (");
  m.estimated_length = whole_after(rest, "estimated maximum model length is");
  return m;
}

OomMessage kv_tokens(std::string_view rest) {
  OomMessage m;
  m.server = "vllm";
  m.wording = ServerWording::vllm_kv_tokens;
  m.model_length = length_after(rest, "max seq len (");
  m.cache_tokens = whole_after(rest, "stored in KV cache (");
  return m;
}

/// "Free memory on device cuda:0 (19.77/22.05 GiB) on startup is less than desired GPU memory
/// utilization (0.9, 19.84 GiB)." A start that went well begins its account with the same words:
/// "Free memory on device (77.78/79.33 GiB) on startup. Desired GPU memory utilization is ...".
std::optional<OomMessage> start_up(std::string_view rest) {
  const std::size_t less = rest.find("is less than desired");
  if (less == rest.npos || rest.substr(0, less).find(". ") != rest.npos) return std::nullopt;
  OomMessage m;
  m.server = "vllm";
  m.wording = ServerWording::vllm_start_up;
  if (const auto gpu = whole_after(rest.substr(0, rest.find('(')), "cuda:"))
    m.gpu = static_cast<int>(*gpu);
  const std::size_t open = rest.find('(');
  if (open == rest.npos) return std::nullopt;
  std::size_t used = 0;
  const auto free = number_at(rest.substr(open + 1), &used);
  const std::string_view after = rest.substr(std::min(open + 1 + used, rest.size()));
  if (!free || !after.starts_with('/')) return std::nullopt;
  m.device = quantity_at(after.substr(1));
  m.free = Quantity{static_cast<Bytes>(*free * static_cast<double>(1_GiB)),
                    m.device ? m.device->within : 0};
  m.fraction = number_after(rest, "utilization (");
  if (const std::size_t at = rest.find("utilization ("); at != rest.npos)
    if (const std::size_t comma = rest.find(", ", at); comma != rest.npos)
      m.desired = quantity_at(rest.substr(comma + 2));
  return m;
}

/// The device of a buffer's name: 0 of "CUDA0".
void take_buffer(OomMessage& m, std::string_view buffer) {
  m.buffer = buffer;
  const std::size_t digit = buffer.find_first_of("0123456789");
  m.backend = buffer.substr(0, digit);
  if (m.backend == "ROCm") m.backend = "HIP";
  if (digit != buffer.npos)
    if (const auto gpu = whole_at(buffer.substr(digit))) m.gpu = static_cast<int>(*gpu);
}

/// What llama.cpp was making, by the function that says it.
std::string part_by(std::string_view words) {
  const auto has = [&](std::string_view word) { return words.find(word) != words.npos; };
  if (has("alloc_tensor_range")) return "model";
  if (has("gallocr")) return "compute";
  if (has("kv_cache") || has("kv cache") || has("KV")) return "KV cache";
  return {};
}

}  // namespace

std::optional<OomMessage> vllm_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at).substr(0, kLongest);
  if (rest.starts_with("To serve at least one request")) return kv_bytes(rest);
  if (rest.starts_with("max seq len (")) {
    if (rest.substr(0, 120).find("stored in KV cache (") == rest.npos) return std::nullopt;
    return kv_tokens(rest);
  }
  if (rest.starts_with("Free memory on device")) return start_up(rest);
  OomMessage m;
  m.server = "vllm";
  m.wording =
      rest.starts_with("CUDA") ? ServerWording::vllm_sampler : ServerWording::vllm_no_blocks;
  if (rest.starts_with("Available"))
    if (const auto lacks = quantity_after(rest, "memory: -"))
      m.cache_available = Quantity{-lacks->bytes, lacks->within};
  if (m.wording == ServerWording::vllm_sampler) m.model_length = whole_after(rest, "sampler with");
  return m;
}

std::optional<OomMessage> sglang_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at).substr(0, 400);
  const std::string_view sentence = rest.substr(0, 300);
  OomMessage m;
  m.server = "sglang";
  m.wording =
      rest.starts_with("runs out") ? ServerWording::sglang_slots : ServerWording::sglang_static;
  m.fraction = number_after(rest, "mem_fraction_static=");
  if (!m.fraction) m.fraction = number_after(sentence, "--mem-fraction-static=");
  m.least_fraction = number_after(sentence, "at least ");
  if (!m.least_fraction) m.least_fraction = number_after(sentence, "--mem-fraction-static above ");
  return m;
}

std::optional<OomMessage> llamacpp_message(const MessageText& text, std::size_t at) {
  const std::string_view flat = text.flat();
  const std::string_view rest = flat.substr(at).substr(0, 300);
  const std::string_view before =
      flat.substr(at > 160 ? at - 160 : 0, std::min<std::size_t>(at, 160));
  OomMessage m;
  m.server = "llama.cpp";
  m.wording = ServerWording::llamacpp;
  if (rest.starts_with("cudaMalloc failed")) {
    const std::size_t allocating = before.rfind("allocating ");
    m.backend = "CUDA";
    if (allocating == before.npos) return m;  // Ollama says no more
    m.requested = quantity_at(before.substr(allocating + 11));
    m.gpu = static_cast<int>(whole_after(before.substr(allocating), "on device").value_or(0));
    m.part = part_by(rest.substr(32, 120));
    return m;
  }
  if (rest.starts_with("failed to fit params")) return m;
  if (rest.starts_with("unable to allocate ") ||
      rest.starts_with("failed to allocate buffer for")) {
    m.part = rest.starts_with("unable") ? "model" : part_by(rest);
    if (m.part == "model") take_buffer(m, rest.substr(19, rest.find(' ', 19) - 19));
    return m.part.empty() ? std::nullopt : std::optional(m);
  }
  if (rest.starts_with("failed to allocate buffer, size =")) {
    m.backend = "Metal";
    m.requested = quantity_after(rest, "size =");
    return m.requested ? std::optional(m) : std::nullopt;
  }
  if (rest.starts_with("failed to allocate ")) {
    const std::string_view words = rest.substr(19);
    const std::size_t blank = words.find(" buffer of size ");
    if (blank == words.npos || blank > 24) return std::nullopt;
    take_buffer(m, words.substr(0, blank));
    const auto bytes = whole_at(words.substr(blank + 16));
    if (!bytes) return std::nullopt;
    m.requested = quantity_at(words.substr(blank + 16)).value_or(Quantity{*bytes, 0});
    m.part = part_by(before.substr(before.size() > 60 ? before.size() - 60 : 0));
    return m;
  }
  m.backend = rest.starts_with("CUDA") ? "CUDA" : "Vulkan";
  if (const auto bytes = whole_after(rest, "allocation of size "))
    m.requested = Quantity{*bytes, 0};
  if (rest.starts_with("CUDA error 2") && rest.substr(0, 120).find("out of memory") == rest.npos)
    return std::nullopt;
  return m;
}

}  // namespace memtape
