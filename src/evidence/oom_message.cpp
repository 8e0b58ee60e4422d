// SPDX-License-Identifier: Apache-2.0
#include "evidence/oom_message.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/text.h"
#include "evidence/compiler_oom.h"
#include "evidence/message_text.h"
#include "evidence/server_oom.h"

namespace memtape {
namespace {

using Wording = OomMessage::Wording;

constexpr auto kWordings = std::to_array<std::string_view>({"torch_parentheses",
                                                            "torch_sentences",
                                                            "torch_async",
                                                            "torch_mps",
                                                            "torch_short",
                                                            "cuda_plain",
                                                            "cublas",
                                                            "nccl",
                                                            "host_killed",
                                                            "host_refused",
                                                            "host_shared",
                                                            "vllm_kv_bytes",
                                                            "vllm_kv_tokens",
                                                            "vllm_no_blocks",
                                                            "vllm_start_up",
                                                            "vllm_sampler",
                                                            "sglang_static",
                                                            "sglang_slots",
                                                            "llamacpp",
                                                            "dispatched",
                                                            "xla",
                                                            "tensorflow",
                                                            "triton"});

/// A message is not longer than this, with all processes that it may list.
constexpr std::size_t kLongestMessage = 4000;

std::string backend_before(const MessageText& text, std::size_t at) {
  for (const std::string_view backend : {"CUDA", "HIP", "XPU", "NPU", "MUSA"})
    if (text.flat().substr(0, at).ends_with(std::string(backend) + " "))
      return std::string(backend);
  return {};
}

void read_parentheses(OomMessage& m, std::string_view rest) {
  m.wording = Wording::torch_parentheses;
  const std::size_t end = rest.find(')');
  const std::string_view inside = rest.substr(0, end);
  if (const auto at = inside.find("(GPU"); at != inside.npos)
    if (const auto gpu = whole_at(inside.substr(at + 4))) m.gpu = static_cast<int>(*gpu);
  m.device = quantity_before(inside, " total capacity");
  m.allocated = quantity_before(inside, " already allocated");
  m.free = quantity_before(inside, " free;");
  m.allowed = quantity_before(inside, " allowed;");
  if (const auto reserved = quantity_before(inside, " reserved in total")) {
    if (m.allocated)
      m.unallocated = Quantity{std::max<Bytes>(0, reserved->bytes - m.allocated->bytes),
                               reserved->within + m.allocated->within};
  } else if (const auto cached = quantity_before(inside, " cached")) {
    m.unallocated = cached;
  }
}

void read_sentences(OomMessage& m, std::string_view rest) {
  m.wording = Wording::torch_sentences;
  if (const auto at = rest.find("GPU "); at != rest.npos)
    if (const auto gpu = whole_at(rest.substr(at + 4))) m.gpu = static_cast<int>(*gpu);
  m.device = quantity_after(rest, "total capacity of");
  if (!m.device) m.device = quantity_after(rest, "total capacty of");
  m.free = quantity_after(rest, "of which");
  m.allowed = quantity_before(rest, " allowed;");
  m.process = quantity_after(rest, "this process has");
  m.allocated = quantity_after(rest, "Of the allocated memory");
  m.private_pools = quantity_before(rest, " allocated in private pools");
  m.unallocated = quantity_before(rest, " is reserved by PyTorch but unallocated");
  for (std::size_t at = 0; (at = rest.find("Process ", at)) != rest.npos; ++at) {
    std::size_t used = 0;
    const auto pid = whole_at(rest.substr(at + 8), &used);
    const std::string_view after = pid ? rest.substr(at + 8 + used) : std::string_view();
    if (!after.starts_with(" has ")) continue;
    if (const auto held = quantity_at(after.substr(5))) m.other_processes.emplace_back(*pid, *held);
  }
}

/// "Tried to allocate X" of torch, on any backend that has this wording.
std::optional<OomMessage> torch_message(const MessageText& text, std::size_t at) {
  constexpr std::string_view kTried = "Tried to allocate ";
  const std::string_view rest = text.flat().substr(at).substr(0, kLongestMessage);
  std::size_t used = 0;
  const auto requested = quantity_at(rest.substr(kTried.size()), &used);
  if (!requested) return std::nullopt;
  OomMessage m;
  m.requested = requested;
  const std::string_view before = text.flat().substr(0, at);
  if (before.ends_with("out of memory. ")) m.backend = backend_before(text, at - 15);
  const std::string_view after = rest.substr(kTried.size() + used);
  const std::string_view ours = after.substr(0, after.find(kTried));
  if (ours.starts_with(" (GPU") || ours.starts_with("(GPU"))
    read_parentheses(m, ours);
  else if (ours.starts_with(". GPU"))
    read_sentences(m, ours);
  else
    m.wording = Wording::torch_short;
  for (const std::string_view variable :
       {"PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"})
    if (ours.find(variable) != ours.npos) m.settings_variable = variable;
  return m;
}

/// "MPS backend out of memory (MPS allocated: 5.56 GB, other allocations: 1.10 GB, max allowed:
/// 6.80 GB). Tried to allocate 768.00 MB on private pool."
std::optional<OomMessage> mps_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at).substr(0, kLongestMessage);
  OomMessage m;
  m.wording = Wording::torch_mps;
  m.backend = "MPS";
  m.allocated = quantity_after(rest, "MPS allocated:");
  m.allowed = quantity_after(rest, "max allowed:");
  m.requested = quantity_after(rest, "Tried to allocate");
  if (const auto other = quantity_after(rest, "other allocations:"))
    m.other_processes.emplace_back(0, *other);
  if (!m.allocated && !m.requested) return std::nullopt;
  return m;
}

/// "Allocation on device 0 would exceed allowed memory. (out of memory) Currently allocated : X
/// Requested : X Device limit : X Free (according to CUDA): X PyTorch limit (...) : X"
std::optional<OomMessage> async_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at).substr(0, kLongestMessage);
  OomMessage m;
  m.wording = Wording::torch_async;
  m.backend = "CUDA";
  if (const auto gpu = whole_at(rest.substr(std::string_view("Allocation on device").size())))
    m.gpu = static_cast<int>(*gpu);
  const auto after_colon = [&](std::string_view label) -> std::optional<Quantity> {
    const std::size_t found = rest.find(label);
    if (found == rest.npos) return std::nullopt;
    const std::size_t colon = rest.find(':', found + label.size());
    return colon == rest.npos ? std::nullopt : quantity_at(rest.substr(colon + 1));
  };
  m.allocated = after_colon("Currently allocated");
  m.requested = after_colon("Requested");
  m.device = after_colon("Device limit");
  m.free = after_colon("Free (according to CUDA)");
  m.allowed = after_colon("PyTorch limit");
  return m;
}

/// "Failed to CUDA calloc async 608 bytes" of NCCL's alloc.h; a library's handle has no figure.
std::optional<OomMessage> plain_message(const MessageText& text, std::size_t at) {
  OomMessage m;
  const std::string_view rest = text.flat().substr(at, 200);
  if (rest.starts_with("CU") && rest.substr(0, 40).find("_STATUS_") != rest.npos)
    m.wording = Wording::cublas;
  if (rest.starts_with("Failed to CUDA ") || rest.starts_with("Cuda failure")) {
    m.wording = Wording::nccl;
    const std::size_t digit = rest.substr(0, 60).find_first_of("0123456789");
    if (rest.starts_with("Failed") && digit != rest.npos)
      m.requested = quantity_at(rest.substr(digit));
  }
  m.backend = rest.starts_with("HIP") || rest.starts_with("hip") ? "HIP" : "CUDA";
  return m;
}

/// A launcher's report of a process that was ended by signal 9, or the kernel's own line.
std::optional<OomMessage> killed_message(const MessageText&, std::size_t) {
  OomMessage m;
  m.wording = Wording::host_killed;
  return m;
}

/// What a shell says of a process that was ended: "Killed" alone on its line, or behind the number
/// of the process, "run.sh: line 3: 4711 Killed".
std::optional<OomMessage> shell_message(const MessageText& text, std::size_t at) {
  const std::string_view line = trimmed(text.line(text.line_of(at)));
  const std::size_t word = line.find("Killed");
  if (word == line.npos) return std::nullopt;
  const std::string_view before = trimmed(line.substr(0, word)), after = line.substr(word + 6);
  const bool is_word = after.empty() || after.front() == ' ';
  const bool is_alone = before.empty() && after.empty();
  const bool is_numbered = !before.empty() && before.back() >= '0' && before.back() <= '9';
  return is_word && (is_alone || is_numbered) ? killed_message(text, at) : std::nullopt;
}

/// "DefaultCPUAllocator: can't allocate memory: you tried to allocate 34359738368 bytes.", "Unable
/// to allocate 24.0 GiB for an array" of numpy, "model requires more system memory (12.7 GiB) than".
std::optional<OomMessage> refused_message(const MessageText& text, std::size_t at) {
  const std::string_view rest = text.flat().substr(at, 200);
  OomMessage m;
  m.wording = Wording::host_refused;
  for (const std::string_view phrase :
       {"you tried to allocate", "Unable to allocate", "more system memory ("})
    if (!m.requested) m.requested = quantity_after(rest, phrase);
  if (rest.starts_with("requires more system memory (")) m.server = "ollama";
  return m;
}

std::optional<OomMessage> shared_message(const MessageText&, std::size_t) {
  OomMessage m;
  m.wording = Wording::host_shared;
  return m;
}

std::optional<OomMessage> dispatched_message(const MessageText&, std::size_t) {
  OomMessage m;
  m.wording = Wording::dispatched;
  return m;
}

using Reader = std::optional<OomMessage> (*)(const MessageText&, std::size_t);
struct Anchor {
  std::string_view words;
  Reader read;
};

constexpr auto kAnchors = std::to_array<Anchor>({
    {"Tried to allocate ", torch_message},
    {"MPS backend out of memory", mps_message},
    {"Allocation on device", async_message},
    {"To serve at least one request", vllm_message},
    {"max seq len (", vllm_message},
    {"No available memory for the cache blocks", vllm_message},
    {"Available KV cache memory: -", vllm_message},
    {"Free memory on device", vllm_message},
    {"CUDA out of memory occurred when warming up sampler", vllm_message},
    {"Not enough memory. Please try to increase --mem-fraction-static", sglang_message},
    {"Loaded weights leave no GPU memory for the KV cache", sglang_message},
    {"runs out of memory. Please set a smaller number", sglang_message},
    {"cudaMalloc failed: out of memory", llamacpp_message},
    {"failed to allocate ", llamacpp_message},
    {"unable to allocate ", llamacpp_message},
    {"failed to fit params to free device memory", llamacpp_message},
    {"Device memory allocation of size ", llamacpp_message},
    {"CUDA error 2 at ", llamacpp_message},
    {"CUBLAS_STATUS_ALLOC_FAILED", plain_message},
    {"CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate", plain_message},
    {"CUDNN_STATUS_ALLOC_FAILED", plain_message},
    {"CUSOLVER_STATUS_ALLOC_FAILED", plain_message},
    {"Failed to CUDA calloc", plain_message},
    {"Failed to CUDA malloc", plain_message},
    {"Cuda failure 'out of memory'", plain_message},
    {"Cuda failure 2 'out of memory'", plain_message},
    {"Cuda failure 2 \"out of memory\"", plain_message},
    {"CUDA error: out of memory", plain_message},
    {"CUDA driver error: out of memory", plain_message},
    {"[CUDA]: out of memory", plain_message},
    {"CUDA_ERROR_OUT_OF_MEMORY", plain_message},
    {"cudaErrorMemoryAllocation", plain_message},
    {"HIP error: out of memory", plain_message},
    {"RESOURCE_EXHAUSTED: ", xla_message},
    {"Resource exhausted: ", xla_message},
    {"OOM when allocating tensor with shape[", tensorflow_message},
    {"out of resource: ", triton_message},
    {"DefaultCPUAllocator: ", refused_message},
    {"MemoryError: Unable to allocate ", refused_message},
    {"requires more system memory (", refused_message},
    {"[Errno 12] Cannot allocate memory", refused_message},
    {"std::bad_alloc", refused_message},
    {"Some modules are dispatched on the CPU or the disk", dispatched_message},
    {"workers are out of shared memory", shared_message},
    {"is killed by signal: Bus error", shared_message},
    {"is killed by signal: Killed", killed_message},
    {"Killed", shell_message},
    {"zsh: killed", killed_message},
    {"return code = -9", killed_message},
    {"oom_kill event", killed_message},
    {"oom-kill event", killed_message},
    {"OOM Killed", killed_message},
    {"due to the node running low on memory", killed_message},
    {"exit code -9", killed_message},
    {"Exit code -9", killed_message},
    {"exit code: -9", killed_message},
    {"exitcode: -9", killed_message},
    {"exitcode : -9", killed_message},
    {"exitcode=-9", killed_message},
    {"exit code 137", killed_message},
    {"Exit code 137", killed_message},
    {"exit code: 137", killed_message},
    {"Exit Code: 137", killed_message},
    {"exited with code 137", killed_message},
    {"OOMKilled", killed_message},
    {" Killed python", killed_message},
    {"exit status 137", killed_message},
    {"Failed core proc(s): {'EngineCore_0': -9", killed_message},
    {"Signal 9 (SIGKILL)", killed_message},
    {"signal: 9 (SIGKILL)", killed_message},
    {"signal 9 (SIGKILL)", killed_message},
    {"SIGKILL (9)", killed_message},
    {"Signals.SIGKILL: 9", killed_message},
    {"Out of memory: Killed process", killed_message},
});

bool says_the_same(const OomMessage& a, const OomMessage& b) {
  const auto bytes = [](const std::optional<Quantity>& q) { return q ? q->bytes : Bytes{-1}; };
  return a.wording == b.wording && a.gpu == b.gpu && a.buffer == b.buffer &&
         bytes(a.requested) == bytes(b.requested) && bytes(a.free) == bytes(b.free) &&
         bytes(a.process) == bytes(b.process) && bytes(a.allocated) == bytes(b.allocated) &&
         bytes(a.cache_available) == bytes(b.cache_available) &&
         bytes(a.cache_needed) == bytes(b.cache_needed) && a.cache_tokens == b.cache_tokens;
}

/// llama.cpp says one failure in up to three lines: what is said later completes what was said
/// before.
bool completes(OomMessage& before, const OomMessage& m) {
  if (m.wording != Wording::llamacpp || before.wording != Wording::llamacpp) return false;
  const bool near = m.line <= before.line + 3;
  const bool same_size = before.requested && m.requested &&
                         std::abs(before.requested->bytes - m.requested->bytes) <=
                             before.requested->within + m.requested->within + 1;
  if (near && !m.requested) {
    if (before.part.empty()) before.part = m.part;
    return true;
  }
  if (!near || !same_size || !before.buffer.empty()) return false;
  if (m.requested->within < before.requested->within) before.requested = m.requested;
  before.buffer = m.buffer;
  if (before.part.empty()) before.part = m.part;
  return true;
}

/// Whose log the lines around the message are: a trainer that lets vLLM generate is none.
std::string server_of(std::string_view flat, std::size_t at) {
  constexpr std::size_t kAround = 6000;
  const std::size_t from = at > kAround ? at - kAround : 0;
  const std::string_view around = flat.substr(from, at - from + 1000);
  const auto any = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::any_of(words, [&](auto word) { return around.find(word) != around.npos; });
  };
  if (any({"trainer.py", "train.py", "/accelerate/"})) return {};
  if (any({"sglang", "SGLang", "--mem-fraction-static"})) return "sglang";
  if (any({"vllm", "vLLM", "EngineCore", "(Worker_TP", "gpu_worker.py", "gpu_model_runner.py"}))
    return "vllm";
  return any({"llama_", "ggml_", "common_init", "common_params_fit"}) ? "llama.cpp" : std::string();
}

/// How far a progress bar that was under way had come: "Capturing CUDA graphs (FULL): 64%|### |
/// 45/70" of vLLM, "Capturing batches (bs=160 ...): 12%|# | 3/23" of SGLang.
std::string capture_before(std::string_view flat, std::size_t at) {
  constexpr std::size_t kNear = 2500;
  const std::string_view before = flat.substr(at > kNear ? at - kNear : 0, std::min(at, kNear));
  std::size_t begin = before.rfind("Capturing CUDA graphs");
  if (begin == before.npos) begin = before.rfind("Capturing batches");
  if (begin == before.npos) return {};
  const std::string_view bar = before.substr(begin);
  std::string text = "capturing CUDA graphs";
  if (const std::size_t open = bar.find(" ("), close = bar.find(')');
      open != bar.npos && close != bar.npos && open < close && close < 60)
    text += bar.substr(open, close + 1 - open);
  for (std::size_t slash = bar.rfind('/'); slash != bar.npos && slash > 0;
       slash = bar.rfind('/', slash - 1)) {
    const std::size_t digits = bar.find_last_not_of("0123456789", slash - 1) + 1;
    const auto done = whole_at(bar.substr(digits)), all = whole_at(bar.substr(slash + 1));
    if (digits == slash || !done || !all || *done > *all) continue;
    if (*done == *all) return {};  // that bar was complete
    return text + ", " + std::to_string(*done) + " of " + std::to_string(*all) + " done";
  }
  return text;
}

/// What the message is part of: its line, its program, what that was doing.
void place(OomMessage& m, const MessageText& text, std::size_t at) {
  m.line = text.line_of(at);
  m.place = text.place_above(m.line);
  if (m.server.empty()) m.server = server_of(text.flat(), at);
  m.during = capture_before(text.flat(), at);
}

}  // namespace

std::string_view name(OomMessage::Wording wording) {
  return kWordings[static_cast<std::size_t>(wording)];
}

std::optional<Bytes> OomMessage::reserved() const {
  if (!allocated || !unallocated) return std::nullopt;
  return allocated->bytes + unallocated->bytes;
}

std::vector<OomMessage> oom_messages(std::string_view whole) {
  const MessageText text(whole);
  std::vector<std::pair<std::size_t, const Anchor*>> found;
  for (const Anchor& anchor : kAnchors)
    for (std::size_t at = 0; (at = text.flat().find(anchor.words, at)) != std::string_view::npos;
         at += anchor.words.size())
      found.emplace_back(at, &anchor);
  std::ranges::sort(found);
  std::vector<OomMessage> messages;
  std::size_t covered = 0;  // an MPS message holds the words of torch's
  for (const auto& [at, anchor] : found) {
    if (at < covered) continue;
    auto m = anchor->read(text, at);
    if (!m) continue;
    if (anchor->read == mps_message) covered = at + 250;
    place(*m, text, at);
    const auto again = std::ranges::find_if(
        messages, [&](const OomMessage& other) { return says_the_same(other, *m); });
    if (again != messages.end())
      ++again->times;
    else if (messages.empty() || !completes(messages.back(), *m))
      messages.push_back(std::move(*m));
  }
  // What stands without figures beside a message with figures is the same failure.
  const auto says_why = [](const OomMessage& m) {
    return m.requested || m.cache_available || m.cache_needed;
  };
  const bool has_figures = std::ranges::any_of(messages, says_why);
  const auto is_killed = [](const OomMessage& m) { return m.wording == Wording::host_killed; };
  const bool is_known = !std::ranges::all_of(messages, is_killed);
  std::erase_if(messages, [&](const OomMessage& m) {
    const bool is_quoted = m.wording == Wording::torch_short &&
                           std::ranges::any_of(messages, [&](const OomMessage& other) {
                             return other.wording < Wording::torch_mps && other.requested &&
                                    other.requested->bytes == m.requested->bytes;
                           });
    if (is_quoted) return true;
    const bool is_bare = m.wording == Wording::cuda_plain ||
                         (m.wording == Wording::vllm_no_blocks && !m.cache_available);
    return (has_figures && is_bare) || (is_known && is_killed(m));
  });
  return messages;
}

}  // namespace memtape
