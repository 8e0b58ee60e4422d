// SPDX-License-Identifier: Apache-2.0
#include "evidence/start_up_log.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/log_tables.h"

namespace memtape {
namespace {

using Unit = LogFigure::Unit;

/// How a figure is found: on a line that has `on_line`, the number behind `before`.
struct Phrase {
  std::string_view program, name, on_line, before;
  Unit unit = Unit::bytes;
  Bytes scale = 0;  ///< of numbers without a unit of their own
};

constexpr Bytes kMi = 1_MiB, kGi = 1_GiB;
constexpr std::array kPhrases{
    Phrase{"vllm", "weights", "Model loading took", "Model loading took"},
    Phrase{"vllm", "weights", "Loading model weights took", "Loading model weights took"},
    Phrase{"vllm", "weights", "model weights take", "model weights take"},
    Phrase{"vllm", "device", "total_gpu_memory (", "total_gpu_memory ("},
    Phrase{"vllm", "gpu_memory_utilization", "gpu_memory_utilization (", "gpu_memory_utilization (",
           Unit::ratio},
    Phrase{"vllm", "share", "the current vLLM instance can use total", ") = "},
    Phrase{"vllm", "non_torch", "non_torch_memory takes", "non_torch_memory takes"},
    Phrase{"vllm", "activation_peak", "PyTorch activation peak memory takes",
           "PyTorch activation peak memory takes"},
    Phrase{"vllm", "kv_cache", "reserved for KV Cache is", "reserved for KV Cache is"},
    Phrase{"vllm", "kv_cache", "Available KV cache memory:", "Available KV cache memory:"},
    Phrase{"vllm", "kv_tokens", "GPU KV cache size:", "GPU KV cache size:", Unit::count},
    Phrase{"vllm", "blocks", "# GPU blocks:", "# GPU blocks:", Unit::count},
    Phrase{"vllm", "blocks", "# CUDA blocks:", "# CUDA blocks:", Unit::count},
    Phrase{"vllm", "kv_cache_in_use", "Current kv cache memory in use is",
           "Current kv cache memory in use is"},
    Phrase{"vllm", "gpu_memory_utilization", "Desired GPU memory utilization is (",
           "Desired GPU memory utilization is (", Unit::ratio},
    Phrase{"vllm", "gpu_memory_utilization",
           "non-default args:", "'gpu_memory_utilization':", Unit::ratio},
    Phrase{"vllm", "cuda_graph", "CUDA graph pool memory:", "CUDA graph pool memory:"},
    Phrase{"vllm", "max_concurrency", "Maximum concurrency for", "per request:", Unit::ratio},
    Phrase{"vllm", "cuda_graph", "Graph capturing finished", "took "},
    Phrase{"sglang", "distributed", "Init torch distributed ends", "mem usage="},
    Phrase{"sglang", "free_before_weights", "Load weight begin", "avail mem="},
    Phrase{"sglang", "weights", "Load weight end", "mem usage="},
    Phrase{"sglang", "free_after_weights", "Load weight end", "avail mem="},
    Phrase{"sglang", "kv_tokens", "KV Cache is allocated", "#tokens:", Unit::count},
    Phrase{"sglang", "k_cache", "KV Cache is allocated", "K size:"},
    Phrase{"sglang", "v_cache", "KV Cache is allocated", "V size:"},
    Phrase{"sglang", "kv_cache", "KV Cache is allocated", "KV size:"},
    Phrase{"sglang", "free_after_pools", "Memory pool end", "avail mem="},
    Phrase{"sglang", "cuda_graph", "Capture cuda graph end", "mem usage="},
    Phrase{"sglang", "free_at_end", "max_total_num_tokens=", "available_gpu_mem="},
    Phrase{"llama.cpp", "projected", " of device memory vs. ", "projected to use"},
    Phrase{"llama.cpp", "free_device_memory", "projected to use", " of device memory vs. "},
    Phrase{"llama.cpp", "projected_host", " of host memory vs. ", "projected to use"},
    Phrase{"llama.cpp", "above_target", "need to reduce device memory by",
           "need to reduce device memory by"},
    Phrase{"torchtitan", "device", "CUDA capacity:", " with "},
    Phrase{"torchtitan", "model", "memory usage for model:", "memory usage for model:"},
    Phrase{"torchtitan", "peak_reserved", "step:", "memory:"},
    Phrase{"torchtitan", "alloc_retries", "CUDA memory allocation retries", "WARNING - ",
           Unit::count},
    Phrase{"megatron", "allocated", "memory (MB)", "| allocated:", Unit::bytes, kMi},
    Phrase{"megatron", "peak_allocated", "memory (MB)", "| max allocated:", Unit::bytes, kMi},
    Phrase{"megatron", "reserved", "memory (MB)", "| reserved:", Unit::bytes, kMi},
    Phrase{"megatron", "peak_reserved", "memory (MB)", "| max reserved:", Unit::bytes, kMi},
    Phrase{"megatron", "allocated", "mem-allocated-bytes:", "mem-allocated-bytes:", Unit::bytes, 1},
    Phrase{"megatron", "reserved", "mem-reserved-bytes:", "mem-reserved-bytes:", Unit::bytes, 1},
    Phrase{"megatron", "peak_allocated",
           "mem-max-allocated-bytes:", "mem-max-allocated-bytes:", Unit::bytes, 1},
    Phrase{"deepspeed", "allocated", "Max_MA", "MA "},
    Phrase{"deepspeed", "peak_allocated", "Max_MA", "Max_MA "},
    Phrase{"deepspeed", "reserved", "Max_MA", " CA "},
    Phrase{"deepspeed", "peak_reserved", "Max_MA", "Max_CA "},
    // torchtune's log_memory_stats, and what it logs of a step (training/memory.py, 0.2 to 0.6).
    Phrase{"torchtune", "peak_allocated", "peak memory alloc:", "peak memory alloc:"},
    Phrase{"torchtune", "peak_allocated", "peak memory allocation:", "peak memory allocation:"},
    Phrase{"torchtune", "peak_reserved", "peak memory reserved:", "peak memory reserved:"},
    Phrase{"torchtune", "peak_allocated", "peak_memory_alloc:", "peak_memory_alloc:", Unit::bytes,
           kGi},
    Phrase{"torchtune", "peak_reserved",
           "peak_memory_reserved:", "peak_memory_reserved:", Unit::bytes, kGi},
    // max_memory_reserved of all GPUs of a process (trainers/mixin.py of ms-swift 3 and 4).
    Phrase{"ms-swift", "peak_reserved", "'memory(GiB)':", "'memory(GiB)':", Unit::bytes, kGi},
    // The cells about memory of Unsloth's notebooks say GB and divide by 2^30.
    Phrase{"unsloth", "device", "Max memory = ", "Max memory = ", Unit::bytes, kGi},
    Phrase{"unsloth", "peak_reserved",
           "Peak reserved memory = ", "Peak reserved memory = ", Unit::bytes, kGi},
};

/// "1,024" of a log that groups digits: a count.
std::optional<double> count_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && text[at] == ' ') ++at;
  double value = 0;
  std::size_t digits = 0;
  for (; at < text.size(); ++at) {
    if (text[at] >= '0' && text[at] <= '9') {
      value = value * 10 + (text[at] - '0');
      if (++digits > 15) return std::nullopt;
    } else if (text[at] != ',' || digits == 0) {
      break;
    }
  }
  return digits > 0 ? std::optional(value) : std::nullopt;
}

/// vLLM states a cache below nothing: "Available KV cache memory: -3.81 GiB".
std::optional<Quantity> bytes_at(std::string_view text, Bytes scale) {
  if (scale == 0 && text.starts_with(" -")) {
    const auto below = quantity_at(text.substr(2));
    return below ? std::optional(Quantity{-below->bytes, below->within}) : std::nullopt;
  }
  if (scale == 0) return quantity_at(text);
  const auto number = number_at(text);
  if (!number || *number < 0 || *number > 1e15 / static_cast<double>(scale)) return std::nullopt;
  return Quantity{static_cast<Bytes>(*number * static_cast<double>(scale)), 0};
}

/// "rank 3" of "[rank3]:", "[Rank 3]", "TP3]", "(VllmWorker rank=3 pid=12)", "(Worker_TP3 pid=12)".
std::string rank_of(std::string_view line) {
  for (const std::string_view mark : {"[rank", "[Rank ", " TP", "rank=", "Worker_TP"}) {
    const std::size_t at = line.find(mark);
    if (at == line.npos) continue;
    std::size_t used = 0;
    const std::string_view rest = line.substr(at + mark.size());
    const auto rank = whole_at(rest, &used);
    if (!rank || *rank < 0) continue;
    if (mark == " TP" && (rest.size() <= used || rest[used] != ']')) continue;
    return fmt::format("rank {}", *rank);
  }
  return {};
}

class FigureList {
 public:
  void add(LogFigure figure) {
    const auto key = std::tuple(figure.program, figure.name, figure.where);
    const auto [at, is_new] = known_.emplace(key, figures_.size());
    if (is_new) {
      figure.last = figure.highest = figure.first;
      figures_.push_back(std::move(figure));
      return;
    }
    LogFigure& before = figures_[at->second];
    before.last = figure.first;
    before.highest = std::max(before.highest, figure.first);
    ++before.times;
  }
  std::vector<LogFigure> take() && { return std::move(figures_); }

 private:
  std::vector<LogFigure> figures_;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> known_;
};

void read_phrases(std::string_view line, std::size_t number, FigureList& figures) {
  for (const Phrase& phrase : kPhrases) {
    const std::size_t on = line.find(phrase.on_line);
    if (on == line.npos) continue;
    const std::size_t at = line.find(phrase.before);
    if (at == line.npos) continue;
    const std::string_view rest = line.substr(at + phrase.before.size());
    LogFigure figure{.program = std::string(phrase.program),
                     .name = std::string(phrase.name),
                     .where = rank_of(line),
                     .unit = phrase.unit,
                     .line = number};
    if (phrase.unit == Unit::bytes) {
      const auto quantity = bytes_at(rest, phrase.scale);
      if (!quantity) continue;
      figure.first = static_cast<double>(quantity->bytes);
      figure.within = quantity->within;
    } else {
      const auto value = phrase.unit == Unit::count ? count_at(rest) : number_at(rest);
      if (!value) continue;
      figure.first = *value;
    }
    figures.add(std::move(figure));
  }
}

/// What each start of vLLM says since 0.10.2: "Free memory on device (77.78/79.33 GiB) on startup.
/// Desired GPU memory utilization is (0.85, 67.43 GiB). Actual usage is 16.92 GiB for weight, 5.66
/// GiB for peak activation, 0.13 GiB for non-torch memory, and 1.34 GiB for CUDAGraph memory."
void read_vllm_usage(std::string_view line, std::size_t number, FigureList& figures) {
  const auto add = [&](std::string_view name, std::string_view text) {
    if (const auto quantity = quantity_at(text))
      figures.add({.program = "vllm",
                   .name = std::string(name),
                   .where = rank_of(line),
                   .first = static_cast<double>(quantity->bytes),
                   .within = quantity->within,
                   .line = number});
  };
  const auto add_behind = [&](std::string_view name, std::string_view phrase, char sign) {
    const std::size_t at = line.find(phrase);
    const std::size_t found = at == line.npos ? at : line.find(sign, at);
    if (found != line.npos) add(name, line.substr(found + 1));
  };
  if (line.find("Actual usage is ") == line.npos) return;
  add_behind("device", "Free memory on device", '/');
  add_behind("share", "Desired GPU memory utilization is (", ',');
  using NamedPhrase = std::pair<std::string_view, std::string_view>;
  for (const auto& [phrase, name] :
       {NamedPhrase{" for weight", "weights"},
        NamedPhrase{" for consumed memory (weights + non-torch)", "weights_and_non_torch"},
        NamedPhrase{" for peak activation", "activation_peak"},
        NamedPhrase{" for non-torch memory", "non_torch"},
        NamedPhrase{" for CUDAGraph memory", "cuda_graph"}}) {
    const std::string_view before = line.substr(0, line.find(phrase));
    const std::size_t unit = before.rfind(' ');
    const std::size_t value = unit == 0 ? before.npos : before.rfind(' ', unit - 1);
    if (before.size() < line.size() && unit != before.npos && value != before.npos)
      add(name, before.substr(value));
  }
}

/// axolotl's "GPU memory usage while training: 13.270GB (+56.066GB cache, +1.108GB misc)"
/// (utils/bench.py): allocated, what is reserved beyond it, and what the device has beyond that.
void read_axolotl(std::string_view line, std::size_t number, FigureList& figures) {
  constexpr std::string_view kUsage = "GPU memory usage ";
  const std::size_t at = line.find(kUsage);
  const std::size_t colon = at == line.npos ? at : line.find(": ", at);
  if (colon == line.npos) return;
  const std::string_view rest = line.substr(colon + 2);
  const auto add = [&](std::string_view name, const std::optional<Quantity>& q) {
    if (q)
      figures.add({.program = "axolotl",
                   .name = std::string(name),
                   .where = rank_of(line),
                   .first = static_cast<double>(q->bytes),
                   .within = q->within,
                   .line = number});
  };
  const auto allocated = quantity_at(rest);
  add("allocated", allocated);
  for (std::size_t plus = rest.find('+'); plus != rest.npos; plus = rest.find('+', plus + 1)) {
    std::size_t used = 0;
    const std::string_view extra = rest.substr(plus + 1);
    const auto q = quantity_at(extra, &used);
    if (!q || !allocated) continue;
    if (extra.substr(used).starts_with(" cache"))
      add("reserved", Quantity{allocated->bytes + q->bytes, allocated->within + q->within});
    if (extra.substr(used).starts_with(" misc")) add("outside_torch", q);
  }
}

/// Members of what a Trainer logs, "'memory/max_allocated (GiB)': '2.42'", with or without quotes:
/// axolotl's since 0.7 (core/trainers/base.py), and before that "max_mem_allocated(gib)".
void read_trainer_log(std::string_view line, std::size_t number, FigureList& figures) {
  struct Member {
    std::string_view key, name;
  };
  constexpr auto kMembers =
      std::to_array<Member>({{"memory/max_active (GiB)", "peak_active"},
                             {"memory/max_mem_active(gib)", "peak_active"},
                             {"memory/max_allocated (GiB)", "peak_allocated"},
                             {"memory/max_mem_allocated(gib)", "peak_allocated"},
                             {"memory/device_reserved (GiB)", "reserved"},
                             {"memory/device_mem_reserved(gib)", "reserved"}});
  for (const Member& member : kMembers) {
    const std::size_t at = line.find(member.key);
    if (at == line.npos) continue;
    std::string_view rest = line.substr(at + member.key.size());
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("'\": ")));
    const auto gibs = number_at(rest);
    if (!gibs || *gibs < 0 || *gibs > 1e5) continue;
    figures.add({.program = "trainer",
                 .name = std::string(member.name),
                 .where = rank_of(line),
                 .first = *gibs * static_cast<double>(1_GiB),
                 .within = 1_GiB / 200,
                 .line = number});
  }
}

/// "load_tensors:        CUDA0 model buffer size = 48928.09 MiB"
void read_llamacpp(std::string_view line, std::size_t number, FigureList& figures) {
  constexpr std::string_view kBuffer = " buffer size = ";
  const std::size_t at = line.find(" buffer size");
  if (at == line.npos) return;
  const std::size_t equals = line.find('=', at);
  if (equals == line.npos || equals - at > kBuffer.size()) return;
  const auto size = quantity_at(line.substr(equals + 1));
  const std::string_view before = line.substr(0, at);
  const std::size_t kind = before.find_last_of(" \t");
  if (!size || kind == before.npos) return;
  const std::string_view device = trimmed(before.substr(0, kind));
  const std::size_t name = device.find_last_of(" \t");
  figures.add({.program = "llama.cpp",
               .name = std::string(before.substr(kind + 1)) + "_buffer",
               .where = std::string(name == device.npos ? device : device.substr(name + 1)),
               .first = static_cast<double>(size->bytes),
               .within = size->within,
               .line = number});
}

}  // namespace

std::vector<LogFigure> log_figures(std::string_view text) {
  FigureList figures;
  LogTables tables;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    read_phrases(line, number, figures);
    read_vllm_usage(line, number, figures);
    read_llamacpp(line, number, figures);
    read_axolotl(line, number, figures);
    read_trainer_log(line, number, figures);
    for (LogFigure& figure : tables.read(line, number)) figures.add(std::move(figure));
  }
  return std::move(figures).take();
}

}  // namespace memtape
