// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/explanation.h"

namespace memtape {
namespace {

using ExplainedWording = OomMessage::Wording;

/// "4.36 GiB (to 5.12 MiB)": what the digits of the message leave open is said where it matters.
std::string about(const Quantity& q) { return human_bytes(q.bytes); }

class MessageReader {
 public:
  MessageReader(ExplainedMessage& out, const std::vector<LogFigure>& figures)
      : out_(out), m_(out.message), figures_(figures) {}

  void read() {
    switch (m_.wording) {
      case ExplainedWording::torch_parentheses:
      case ExplainedWording::torch_sentences:
      case ExplainedWording::torch_async: torch(); break;
      case ExplainedWording::torch_mps: mps(); break;
      case ExplainedWording::vllm_kv_bytes:
      case ExplainedWording::vllm_kv_tokens: vllm_cache(); break;
      case ExplainedWording::vllm_start_up: vllm_start_up(); break;
      case ExplainedWording::llamacpp: llamacpp(); break;
      default: plain();
    }
  }

 private:
  void finding(std::string text) { out_.findings.push_back(std::move(text)); }
  void remedy(std::string change, std::string effect, std::optional<Bytes> bytes, bool enough) {
    out_.remedies.push_back({std::move(change), std::move(effect), bytes, enough});
  }

  void torch() {
    if (!m_.requested) return;
    const Bytes requested = m_.requested->bytes;
    if (m_.device && requested > m_.device->bytes)
      finding(
          fmt::format("the one request of {} is larger than the device ({}): no setting helps, "
                      "the tensor itself must be smaller",
                      about(*m_.requested), about(*m_.device)));
    outside();
    pieces();
    fraction();
    missing();
  }

  /// What of the device is neither in the allocator's hands nor free.
  void outside() {
    if (!m_.device || !m_.free) return;
    const Bytes used = m_.device->bytes - m_.free->bytes;
    Bytes others = 0;
    for (const auto& [pid, held] : m_.other_processes) others += held.bytes;
    if (m_.process && m_.reserved() && m_.process->bytes >= *m_.reserved())
      finding(
          fmt::format("{} of this process is outside the allocator: CUDA context, kernels, "
                      "NCCL and other libraries",
                      human_bytes(m_.process->bytes - *m_.reserved())));
    const Bytes ours = m_.process ? m_.process->bytes : m_.reserved().value_or(0);
    if (m_.process || (m_.other_processes.empty() && m_.reserved())) {
      const Bytes beyond = used - ours;
      if (beyond > 512_MiB)
        finding(fmt::format(
            "{} of the device is in use beyond what this process says it holds{}",
            human_bytes(beyond),
            m_.process ? ": other processes" : ": its CUDA context and other processes"));
    }
    if (!m_.other_processes.empty()) {
      finding(fmt::format("{} processes are named on this GPU, with {} together",
                          m_.other_processes.size(), human_bytes(others)));
      if (m_.process)
        end_others();
      else
        part_processes(others);
    }
  }

  void end_others() {
    if (!m_.free || !m_.requested) return;
    for (const auto& [pid, held] : m_.other_processes)
      if (held.bytes + m_.free->bytes >= m_.requested->bytes)
        remedy(fmt::format("end process {}", pid), fmt::format("{} more for this one", about(held)),
               held.bytes, true);
  }

  /// torch does not know its own number (in a container it is another): the process that holds what
  /// the allocator has, and least beyond it, is this one.
  void part_processes(Bytes all) {
    if (!m_.reserved() || m_.other_processes.size() < 2) return;
    const std::pair<std::int64_t, Quantity>* own = nullptr;
    for (const auto& process : m_.other_processes)
      if (process.second.bytes >= *m_.reserved() &&
          (own == nullptr || process.second.bytes < own->second.bytes))
        own = &process;
    if (own == nullptr) return;
    const Bytes held = all - own->second.bytes;
    finding(
        fmt::format("process {} is probably this one (it holds the least beyond what the allocator "
                    "has); the others have {}",
                    own->first, human_bytes(held)));
    remedy("torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), or CUDA_VISIBLE_DEVICES",
           fmt::format("a GPU for each process: {} more for this one", human_bytes(held)), held,
           true);
  }

  /// The allocator's own free memory: enough of it in pieces is fragmentation.
  void pieces() {
    if (!m_.unallocated || !m_.requested) return;
    const Bytes free = m_.free ? m_.free->bytes : 0;
    if (free >= m_.requested->bytes) return driver_refused();
    const bool enough = m_.unallocated->bytes + free >= m_.requested->bytes;
    if (enough && m_.unallocated->bytes > 0) {
      finding(
          fmt::format("{} is reserved but not in use, more than is missing: it is in pieces, "
                      "or in segments that a live block keeps",
                      about(*m_.unallocated)));
      remedy("PYTORCH_ALLOC_CONF=expandable_segments:True",
             fmt::format("up to {} of it becomes usable; a snapshot says how much (memtape "
                         "explain FILE.pickle replays it)",
                         about(*m_.unallocated)),
             m_.unallocated->bytes, false);
    } else if (m_.unallocated->bytes > 0) {
      finding(
          fmt::format("only {} is reserved but not in use: settings of the allocator cannot "
                      "make room for {}",
                      about(*m_.unallocated), about(*m_.requested)));
    }
  }

  void driver_refused() {
    if (m_.allowed) return;
    finding(
        fmt::format("{} was free and {} was asked for: the driver refused it all the same, as it "
                    "does when another process took it in between, when Windows has no page "
                    "file to back it, or when one buffer has a limit of its own",
                    about(*m_.free), about(*m_.requested)));
  }

  void fraction() {
    if (!m_.allowed || !m_.device || m_.allowed->bytes >= m_.device->bytes) return;
    finding(fmt::format("the process may use {} of {}: set_per_process_memory_fraction",
                        about(*m_.allowed), about(*m_.device)));
    remedy("torch.cuda.set_per_process_memory_fraction(1.0)",
           fmt::format("{} more", human_bytes(m_.device->bytes - m_.allowed->bytes)),
           m_.device->bytes - m_.allowed->bytes, m_.free && m_.free->bytes >= m_.requested->bytes);
  }

  void missing() {
    if (!m_.free || !m_.requested) return;
    const Bytes missing =
        m_.requested->bytes - m_.free->bytes - (m_.unallocated ? m_.unallocated->bytes : 0);
    if (missing <= 0) return;
    finding(fmt::format("at least {} less must be in use at this moment", human_bytes(missing)));
    remedy("memtape train MODEL --gpu NAME ... (or: memtape -- YOUR COMMAND)",
           "names the changes that make it fit, each with its exact peak", missing, false);
  }

  void mps() {
    if (m_.allocated && !m_.other_processes.empty())
      finding(fmt::format("{} by torch, {} by others of this process and the system",
                          about(*m_.allocated), about(m_.other_processes.front().second)));
    if (m_.allowed)
      finding(fmt::format("torch may use {} (1.7 x the recommended working set, by default)",
                          about(*m_.allowed)));
    remedy("PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0", "no limit by torch; the system may swap or fail",
           std::nullopt, false);
  }

  void vllm_cache() {
    if (m_.model_length && m_.cache_tokens) {
      finding(fmt::format("the cache holds {} tokens, one request may have {}",
                          with_commas(*m_.cache_tokens), with_commas(*m_.model_length)));
      remedy(fmt::format("--max-model-len {}", *m_.cache_tokens), "one request fits", std::nullopt,
             true);
    }
    if (!m_.cache_needed || !m_.cache_available || !m_.model_length) return;
    finding(fmt::format("one request of {} tokens needs {} of cache, {} are there",
                        with_commas(*m_.model_length), about(*m_.cache_needed),
                        about(*m_.cache_available)));
    if (m_.estimated_length)
      remedy(fmt::format("--max-model-len {}", *m_.estimated_length),
             "vLLM's own estimate of what fits", std::nullopt, true);
    const Bytes missing = m_.cache_needed->bytes - m_.cache_available->bytes;
    larger_share(missing);
    if (2 * m_.cache_available->bytes >= m_.cache_needed->bytes)
      remedy("--kv-cache-dtype fp8", "half the bytes a token: one request fits",
             m_.cache_needed->bytes / 2, true);
  }

  /// By how much the share of the device must grow; exact where the log says how large it is.
  void larger_share(Bytes missing) {
    const double device = figure("device"), share = figure("gpu_memory_utilization");
    if (device <= 0 || share <= 0)
      return remedy("--gpu-memory-utilization",
                    fmt::format("higher by {} / the device's memory", human_bytes(missing)),
                    missing, false);
    const double wanted = std::ceil((share + static_cast<double>(missing) / device) * 100) / 100;
    if (wanted > 1)
      return finding(
          fmt::format("a larger share of the device does not help: it would take {:.2f}", wanted));
    remedy(fmt::format("--gpu-memory-utilization {:.2f}", wanted),
           fmt::format("{} more for the cache, if that much of the device is free",
                       human_bytes(missing)),
           missing, true);
  }

  void vllm_start_up() {
    if (!m_.free || !m_.device) return;
    finding(fmt::format("{} of {} is free before vLLM has taken anything: others hold {}",
                        about(*m_.free), about(*m_.device),
                        human_bytes(m_.device->bytes - m_.free->bytes)));
    const double share = std::floor(static_cast<double>(m_.free->bytes) /
                                    static_cast<double>(m_.device->bytes) * 100) /
                         100;
    remedy(fmt::format("--gpu-memory-utilization {:.2f}", share),
           "starts; whether the model fits is another question (memtape serve MODEL)", std::nullopt,
           true);
    remedy("memtape detect", "which process holds it", std::nullopt, false);
  }

  void llamacpp() {
    if (m_.requested)
      finding(fmt::format(
          "{} could not have a buffer of {}{}",
          m_.buffer.empty() ? fmt::format("{}{}", m_.backend, m_.gpu.value_or(0)) : m_.buffer,
          about(*m_.requested), m_.part.empty() ? "" : fmt::format(": the {} buffer", m_.part)));
    if (m_.part == "compute")
      remedy("-ub 128", "the compute buffer grows with the micro-batch (512 by default)",
             std::nullopt, false);
    if (m_.part == "compute" || m_.part == "KV cache")
      remedy("-c N", "the cache and the mask grow with the context", std::nullopt, false);
    remedy("memtape serve FILE.gguf --engine llamacpp --gpu NAME --fit",
           "which layers fit, with the flags to paste", std::nullopt, false);
  }

  void plain() {
    if (m_.wording == ExplainedWording::sglang_static)
      remedy("--mem-fraction-static",
             "higher: after the weights nothing is left of its share for the cache", std::nullopt,
             false);
    else if (m_.wording == ExplainedWording::sglang_slots)
      remedy("--max-running-requests", "fewer requests at once", std::nullopt, false);
    else if (m_.wording == ExplainedWording::vllm_no_blocks)
      remedy("--gpu-memory-utilization", "higher: weights and activations take all of its share",
             std::nullopt, false);
    else if (m_.wording == ExplainedWording::vllm_sampler)
      remedy("--max-num-seqs",
             fmt::format("fewer than {}: the sampler is warmed up with as many",
                         m_.model_length.value_or(1024)),
             std::nullopt, false);
    else
      finding("no figures in the message: the request was not torch's own allocator's");
  }

  double figure(std::string_view name) const {
    const auto found = std::ranges::find(figures_, name, &LogFigure::name);
    return found == figures_.end() || found->program != "vllm" ? 0 : found->last;
  }

  ExplainedMessage& out_;
  const OomMessage& m_;
  const std::vector<LogFigure>& figures_;
};

}  // namespace

ExplainedMessage explained(OomMessage message, const std::vector<LogFigure>& figures) {
  ExplainedMessage out;
  out.message = std::move(message);
  MessageReader(out, figures).read();
  return out;
}

}  // namespace memtape
