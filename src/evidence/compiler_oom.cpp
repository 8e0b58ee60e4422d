// SPDX-License-Identifier: Apache-2.0
#include "evidence/compiler_oom.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

using CompilerWording = OomMessage::Wording;
constexpr std::size_t kLongestReport = 1500;

/// XLA's HumanReadableNumBytes on a TPU: "20.31G", "530.00M". Elsewhere it has whole units.
std::optional<Quantity> xla_quantity(std::string_view text) {
  if (const auto whole = quantity_at(text)) return whole;
  std::size_t used = 0;
  const auto number = number_at(text, &used);
  if (!number || *number < 0 || used >= text.size()) return std::nullopt;
  const std::size_t unit = std::string_view("KMG").find(text[used]);
  if (unit == std::string_view::npos) return std::nullopt;
  const std::array<Bytes, 3> sizes{1_KiB, 1_MiB, 1_GiB};
  const auto size = static_cast<double>(sizes[unit]);
  return Quantity{static_cast<Bytes>(*number * size), static_cast<Bytes>(size / 200)};
}

std::optional<Quantity> xla_after(std::string_view text, std::string_view phrase) {
  const std::size_t at = text.find(phrase);
  return at == text.npos ? std::nullopt : xla_quantity(text.substr(at + phrase.size()));
}

/// "Used 20.31G of 15.48G hbm": what the compiled program needs, and what the device has.
void read_program(OomMessage& m, std::string_view rest) {
  m.allocated = xla_after(rest, "Used ");
  const std::size_t used = std::min(rest.find("Used "), rest.size());
  if (const std::size_t at = rest.find(" of ", used); at != rest.npos)
    m.device = xla_quantity(rest.substr(at + 4));
  m.part = "program";
}

std::optional<int> ordinal_after(std::string_view rest) {
  constexpr std::string_view kOrdinal = "device ordinal ";
  const std::size_t at = rest.find(kOrdinal);
  if (at == rest.npos) return std::nullopt;
  const auto gpu = whole_at(rest.substr(at + kOrdinal.size()));
  return gpu ? std::optional(static_cast<int>(*gpu)) : std::nullopt;
}

std::int64_t element_size(std::string_view type) {
  constexpr auto kSizes = std::to_array<std::pair<std::string_view, std::int64_t>>(
      {{"half", 2}, {"bfloat16", 2}, {"double", 8}, {"int64", 8}, {"uint8", 1}, {"int8", 1}});
  for (const auto& [name, size] : kSizes)
    if (type.starts_with(name)) return size;
  return 4;  // float, int32, complex's halves
}

}  // namespace

/// "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes.", "Failed to
/// allocate request for 2.99GiB (3206250496B) on device ordinal 0", "Attempting to allocate 2.00G.
/// That was not possible. There are 1.37G free.", "Ran out of memory in memory space hbm."
std::optional<OomMessage> xla_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at, kLongestReport);
  OomMessage m;
  m.wording = CompilerWording::xla;
  if (rest.find("Ran out of memory in memory space") < 120) {
    read_program(m, rest);
    return m.allocated ? std::optional(m) : std::nullopt;
  }
  for (const std::string_view phrase :
       {"while trying to allocate ", "Failed to allocate request for ", "Out of memory allocating ",
        "Attempting to allocate "})
    if (!m.requested) m.requested = xla_after(rest.substr(0, 200), phrase);
  if (!m.requested) return std::nullopt;
  m.free = xla_after(rest.substr(0, 200), "There are ");
  m.gpu = ordinal_after(rest.substr(0, 200));
  m.desired = xla_after(rest, "total allocation: ");  // BufferAssignment's, of the whole program
  return m;
}

/// "OOM when allocating tensor with shape[32,1024,1024] and type float on ... by allocator
/// GPU_0_bfc"
std::optional<OomMessage> tensorflow_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at, 400);
  const std::size_t open = rest.find("shape["), close = rest.find(']');
  const std::size_t type = rest.find("and type ");
  if (open == rest.npos || close == rest.npos || type == rest.npos) return std::nullopt;
  Bytes bytes = element_size(rest.substr(type + 9));
  for (std::string_view sizes = rest.substr(open + 6, close - open - 6); !sizes.empty();) {
    const auto size = whole_at(sizes);
    constexpr Bytes kMost = Bytes{1} << 46;
    if (!size || *size < 0 || (*size > 0 && bytes > kMost / *size)) return std::nullopt;
    bytes *= *size;
    const std::size_t comma = sizes.find(',');
    sizes = comma == sizes.npos ? std::string_view() : sizes.substr(comma + 1);
  }
  OomMessage m;
  m.wording = CompilerWording::tensorflow;
  m.requested = Quantity{bytes, 0};
  if (const std::size_t gpu = rest.find("GPU:"); gpu != rest.npos)
    if (const auto number = whole_at(rest.substr(gpu + 4))) m.gpu = static_cast<int>(*number);
  return m;
}

/// "out of resource: shared memory, Required: 98304, Hardware limit: 65536." of
/// triton/runtime/errors.py.
std::optional<OomMessage> triton_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at, 300);
  const auto figure = [&](std::string_view phrase) -> std::optional<Quantity> {
    const std::size_t found = rest.find(phrase);
    if (found == rest.npos) return std::nullopt;
    const auto bytes = whole_at(rest.substr(found + phrase.size()));
    return bytes && *bytes >= 0 ? std::optional(Quantity{*bytes, 0}) : std::nullopt;
  };
  OomMessage m;
  m.wording = CompilerWording::triton;
  m.requested = figure("Required: ");
  m.allowed = figure("Hardware limit: ");
  if (!m.requested || !m.allowed) return std::nullopt;
  m.part =
      rest.substr(0, 60).find("tensor memory") != rest.npos ? "tensor memory" : "shared memory";
  return m;
}

namespace {

void explain_xla(ExplainedMessage& out) {
  const OomMessage& m = out.message;
  if (m.part == "program") {
    out.findings.push_back(
        "the program that XLA compiled needs more than the device has, whatever else is on it: "
        "nothing was run");
    out.remedies.push_back({"a smaller batch, or jax.checkpoint", "fewer and smaller temporaries",
                            std::nullopt, false});
    return;
  }
  if (m.desired)
    out.findings.push_back(
        fmt::format("the compiled program takes {} in all: arguments, results and temporaries",
                    human_bytes(m.desired->bytes)));
  out.findings.push_back(
      "XLA takes three quarters of a GPU when it starts and lives within them: what the driver "
      "shows as free beyond is not used, and what it shows as taken says nothing");
  out.remedies.push_back({"XLA_PYTHON_CLIENT_MEM_FRACTION=0.95",
                          "nearly all of the GPU, where no other process needs it", std::nullopt,
                          false});
  out.remedies.push_back({"XLA_PYTHON_CLIENT_PREALLOCATE=false",
                          "takes what it needs, when it does; nvidia-smi then shows it",
                          std::nullopt, false});
  out.remedies.push_back({"jax.checkpoint, donate_argnums, a smaller batch",
                          "fewer activations, and results in the place of arguments", std::nullopt,
                          false});
}

void explain_tensorflow(ExplainedMessage& out) {
  out.findings.push_back(
      "TensorFlow's allocator takes nearly the whole GPU when it starts: the tensor found no room "
      "within it, and what nvidia-smi shows says nothing");
  out.remedies.push_back({"TF_GPU_ALLOCATOR=cuda_malloc_async",
                          "CUDA's own pool, which comes by less in pieces", std::nullopt, false});
  out.remedies.push_back(
      {"a smaller batch", "the tensor's first size is most often the batch", std::nullopt, false});
}

void explain_triton(ExplainedMessage& out) {
  const OomMessage& m = out.message;
  out.findings.push_back(
      fmt::format("this is no lack of the GPU's memory: a block of the Triton kernel wants {} of "
                  "{} on its multiprocessor, which has {}",
                  human_bytes(m.requested->bytes), m.part, human_bytes(m.allowed->bytes)));
  out.remedies.push_back({"smaller block sizes or num_stages in the kernel",
                          "less of it at a time, for a slower kernel", std::nullopt, false});
  out.remedies.push_back(
      {"another kernel: --attention-backend of vLLM and SGLang, sdpa or eager "
       "attention, no torch.compile",
       "the kernel was tuned on GPUs that have more", std::nullopt, false});
}

}  // namespace

void explain_compiler(ExplainedMessage& out) {
  switch (out.message.wording) {
    case CompilerWording::xla: return explain_xla(out);
    case CompilerWording::tensorflow: return explain_tensorflow(out);
    default: explain_triton(out);
  }
}

}  // namespace memtape
