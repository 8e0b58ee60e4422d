// SPDX-License-Identifier: Apache-2.0
#include "evidence/explain_server.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

using Wrote = OomMessage::Wording;

std::string size_of(const std::optional<Quantity>& q) { return human_bytes(q ? q->bytes : 0); }

class ServerReader {
 public:
  ServerReader(ExplainedMessage& out, const std::vector<LogFigure>& figures)
      : out_(out), m_(out.message), figures_(figures) {}

  void read() {
    switch (m_.wording) {
      case Wrote::vllm_kv_bytes:
      case Wrote::vllm_kv_tokens: vllm_cache(); break;
      case Wrote::vllm_no_blocks: vllm_no_blocks(); break;
      case Wrote::vllm_start_up: vllm_start_up(); break;
      case Wrote::vllm_sampler: vllm_sampler(); break;
      case Wrote::sglang_static: sglang_static(); break;
      case Wrote::sglang_slots: remedy("--max-running-requests", "fewer requests at once"); break;
      default: llamacpp();
    }
  }

  void advise(Bytes missing) {
    if (!m_.during.empty()) during_capture();
    if (m_.server == "vllm")
      vllm(missing);
    else if (m_.server == "sglang")
      sglang();
    else
      llamacpp_flags();
    ask("memtape serve MODEL --engine " + (m_.server == "llama.cpp" ? "llamacpp" : m_.server) +
        " --gpu NAME (or: memtape -- YOUR COMMAND)");
  }

 private:
  void finding(std::string text) { out_.findings.push_back(std::move(text)); }
  void remedy(std::string change, std::string effect, std::optional<Bytes> bytes = {},
              bool enough = false) {
    out_.remedies.push_back({std::move(change), std::move(effect), bytes, enough});
  }
  void ask(std::string command) {
    remedy(std::move(command), "says what the start needs, with the flags that make it fit");
  }

  /// 0 if the log does not state it.
  double figure(std::string_view program, std::string_view name) const {
    const auto found = std::ranges::find_if(
        figures_, [&](const LogFigure& f) { return f.program == program && f.name == name; });
    return found == figures_.end() ? 0 : found->last;
  }
  double vllm_figure(std::string_view name) const { return figure("vllm", name); }

  void vllm_cache() {
    if (m_.model_length && m_.cache_tokens) {
      finding(fmt::format("the cache holds {} tokens, one request may have {}",
                          with_commas(*m_.cache_tokens), with_commas(*m_.model_length)));
      remedy(fmt::format("--max-model-len {}", *m_.cache_tokens), "one request fits", {}, true);
    }
    if (!m_.cache_needed || !m_.cache_available || !m_.model_length) return;
    finding(fmt::format(
        "one request of {} tokens needs {} of cache ({} bytes a token), {} are there",
        with_commas(*m_.model_length), size_of(m_.cache_needed),
        with_commas(m_.cache_needed->bytes / *m_.model_length), size_of(m_.cache_available)));
    if (m_.estimated_length)
      remedy(fmt::format("--max-model-len {}", *m_.estimated_length),
             "vLLM's own estimate of what fits", {}, true);
    larger_share(m_.cache_needed->bytes - m_.cache_available->bytes);
    if (2 * m_.cache_available->bytes >= m_.cache_needed->bytes)
      remedy("--kv-cache-dtype fp8", "half the bytes a token: one request fits",
             m_.cache_needed->bytes / 2, true);
  }

  /// By how much the share of the device must grow; exact where the log says how large it is.
  void larger_share(Bytes missing) {
    const double device = vllm_figure("device"), share = vllm_figure("gpu_memory_utilization");
    if (share <= 0)
      return remedy("--gpu-memory-utilization",
                    fmt::format("higher by {} / the device's memory", human_bytes(missing)),
                    missing);
    if (device <= 0) return share_of_unknown(share, missing);
    const double wanted = std::ceil((share + static_cast<double>(missing) / device) * 100) / 100;
    if (wanted > 1)
      return finding(
          fmt::format("a larger share of the device does not help: it would take {:.2f}", wanted));
    remedy(fmt::format("--gpu-memory-utilization {:.2f}", wanted),
           fmt::format("{} more for the cache, if that much of the device is free",
                       human_bytes(missing)),
           missing, true);
  }

  /// Hundredths of a GPU of 80 GiB or less; for which it is enough is said.
  void share_of_unknown(double share, Bytes missing) {
    constexpr double kHundredth = 0.8 * static_cast<double>(1_GiB);
    const double more = std::ceil(static_cast<double>(missing) / kHundredth) / 100;
    if (share + more > 1) return finding("a larger share of the device does not help");
    remedy(
        fmt::format("--gpu-memory-utilization {:.2f}", share + more),
        fmt::format("{} more for the cache, where the device has {} or more", human_bytes(missing),
                    human_bytes(static_cast<Bytes>(static_cast<double>(missing) / more))),
        missing);
  }

  /// A figure below nothing: what weights and the profile run take beyond the share.
  void vllm_no_blocks() {
    const auto logged = static_cast<Bytes>(vllm_figure("kv_cache"));  // older releases' line
    const Bytes beyond = m_.cache_available ? -m_.cache_available->bytes : -logged;
    if (beyond <= 0)
      return remedy("--gpu-memory-utilization",
                    "higher: weights and activations take all of its share");
    finding(
        fmt::format("weights and the profile run take {} more than vLLM's share of the GPU: "
                    "nothing is left for the cache",
                    human_bytes(beyond)));
    share_beyond(beyond);
    remedy("--max-num-batched-tokens 2048", "a smaller profile run: fewer tokens in one step");
    remedy("--tensor-parallel-size 2", "half of the weights on each of two GPUs");
  }

  /// The least hundredth that holds weights and profile run; the cache needs more than that.
  void share_beyond(Bytes beyond) {
    const double device = vllm_figure("device"), share = vllm_figure("gpu_memory_utilization");
    if (device <= 0 || share <= 0) return larger_share(beyond);
    const double least = std::floor((share + static_cast<double>(beyond) / device) * 100 + 1) / 100;
    constexpr double kMost = 0.95;  // above it servers run out while they capture graphs
    if (least > kMost)
      return finding(fmt::format(
          "a larger share does not help: it would take {:.2f}, which leaves no room for graphs",
          least));
    remedy(fmt::format("--gpu-memory-utilization {:.2f}", least),
           fmt::format("the least that leaves anything for the cache; each hundredth more is {}",
                       human_bytes(static_cast<Bytes>(device / 100))),
           beyond);
  }

  void vllm_start_up() {
    if (!m_.free || !m_.device) return;
    finding(fmt::format("{} of {} is free before vLLM has taken anything: others hold {}",
                        size_of(m_.free), size_of(m_.device),
                        human_bytes(m_.device->bytes - m_.free->bytes)));
    const double share = std::floor(static_cast<double>(m_.free->bytes) /
                                    static_cast<double>(m_.device->bytes) * 100) /
                         100;
    remedy(fmt::format("--gpu-memory-utilization {:.2f}", share),
           "starts; whether the model fits is another question (memtape serve MODEL)", {}, true);
    remedy("memtape detect", "which process holds it");
  }

  void vllm_sampler() {
    remedy("--max-num-seqs", fmt::format("fewer than {}: the sampler is warmed up with as many",
                                         m_.model_length.value_or(1024)));
  }

  /// handle of SGLang's profile_max_num_token: what is left of the share, 1 - free / before.
  void sglang_static() {
    const double after = figure("sglang", "free_after_weights"),
                 weights = figure("sglang", "weights"), before = after + weights;
    double least = m_.least_fraction.value_or(0);
    if (least == 0 && after > 0 && weights > 0) least = 1 - after / before;
    if (least <= 0)
      remedy("--mem-fraction-static", "higher: after the weights nothing is left of its share");
    else
      raise_fraction(least, before);
    remedy("--tp 2", "half of the weights on each of two GPUs");
    ask("memtape serve MODEL --engine sglang --gpu NAME (or: memtape -- YOUR COMMAND)");
  }

  void raise_fraction(double least, double before) {
    finding(fmt::format("the weights alone take a share of {:.4g}{}", least,
                        m_.fraction ? fmt::format(", allowed is {:.4g}", *m_.fraction) : ""));
    const double share = std::floor(least * 100 + 1) / 100;
    if (share >= 1)
      return finding("no share of the GPU leaves room for a cache: the weights must be fewer");
    const auto room = static_cast<Bytes>((share - least) * before);
    remedy(fmt::format("--mem-fraction-static {:.2f}", share),
           room > 0 ? fmt::format("{} for the cache, and {} of the GPU for all that is outside it",
                                  human_bytes(room),
                                  human_bytes(static_cast<Bytes>((1 - share) * before)))
                    : "the least hundredth that leaves something for the cache",
           room > 0 ? std::optional(room) : std::nullopt);
  }

  /// Graphs are captured after the cache has been made: what they take is not in vLLM's share.
  void during_capture() {
    finding(fmt::format("it ran out while {}: graphs come on top of weights and cache", m_.during));
    if (const double cache = vllm_figure("kv_cache"); cache > 0 && m_.server == "vllm")
      finding(fmt::format("the cache of {} was made before, and is what can be smaller",
                          human_bytes(static_cast<Bytes>(cache))));
  }

  void vllm(Bytes missing) {
    const bool captures = !m_.during.empty();
    const double device = vllm_figure("device"), share = vllm_figure("gpu_memory_utilization");
    if (device > 0 && share > 0 && missing > 0)
      remedy(
          fmt::format("--gpu-memory-utilization {:.2f}",
                      std::floor((share - static_cast<double>(missing) / device) * 100) / 100),
          fmt::format("{} less for the cache, and as much for what failed", human_bytes(missing)),
          missing);
    else
      remedy("--gpu-memory-utilization",
             share > 0
                 ? fmt::format("lower than {:.2f}: less cache, more room outside of it", share)
                 : "lower by 0.05: less cache, more room outside of it");
    if (captures) {
      remedy("--max-cudagraph-capture-size 128", "fewer and smaller graphs");
      remedy("--enforce-eager", "no graphs at all, and slower tokens");
    } else {
      remedy("--max-num-batched-tokens 2048", "fewer tokens in one step");
      remedy("--max-num-seqs 64", "fewer requests at a time");
    }
  }

  void sglang() {
    remedy("--mem-fraction-static", "lower by 0.05: a smaller cache, more room for activations");
    if (m_.during.empty())
      remedy("--chunked-prefill-size 2048", "fewer tokens in one step");
    else
      remedy("--cuda-graph-max-bs 16", "fewer and smaller graphs");
  }

  void llamacpp() {
    const double projected = figure("llama.cpp", "projected"),
                 free = figure("llama.cpp", "free_device_memory");
    if (projected > 0 && free > 0)
      finding(fmt::format("llama.cpp itself expects {} on devices that have {} free",
                          human_bytes(static_cast<Bytes>(projected)),
                          human_bytes(static_cast<Bytes>(free))));
    if (m_.requested)
      finding(fmt::format("{} could not have a buffer of {}{}",
                          !m_.buffer.empty() ? m_.buffer
                          : m_.gpu           ? fmt::format("{}{}", m_.backend, *m_.gpu)
                                             : m_.backend,
                          size_of(m_.requested),
                          m_.part.empty() ? "" : fmt::format(": the {} buffer", m_.part)));
    if (m_.part == "KV cache")
      finding("the cache is as long as the context, which is the model's own unless -c says less");
    llamacpp_flags();
    remedy("memtape serve FILE.gguf --engine llamacpp --gpu NAME --fit",
           "which layers fit, with the flags to paste");
  }

  void llamacpp_flags() {
    if (m_.part == "compute")
      remedy("-ub 128", "the compute buffer grows with the micro-batch (512 by default)");
    if (m_.part == "compute" || m_.part == "KV cache")
      remedy("-c 8192", "the cache and the mask grow with the context");
    if (m_.part == "KV cache")
      remedy("-ctk q8_0 -ctv q8_0", "keys and values in about half of the bytes");
    if (m_.part == "model") remedy("-ngl N", "fewer layers on the GPU, the others on the CPU");
  }

  ExplainedMessage& out_;
  const OomMessage& m_;
  const std::vector<LogFigure>& figures_;
};

}  // namespace

void explain_server(ExplainedMessage& out, const std::vector<LogFigure>& figures) {
  ServerReader(out, figures).read();
}

void advise_server(ExplainedMessage& out, const std::vector<LogFigure>& figures, Bytes missing) {
  ServerReader(out, figures).advise(missing);
}

}  // namespace memtape
