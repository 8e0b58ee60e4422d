// SPDX-License-Identifier: Apache-2.0
#include "report/headline.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"

namespace memtape::report {
namespace {

/// The value of a setting as text; "" where there is none, or where it says that there is nothing.
std::string_view value_of(const std::vector<Setting>& settings, std::string_view name) {
  for (const Setting& s : settings) {
    if (s.name != name) continue;
    std::string_view v = s.json_value;
    if (v.size() >= 2 && v.front() == '"') v = v.substr(1, v.size() - 2);
    return v == "null" || v == "none" || v == "false" ? std::string_view() : v;
  }
  return {};
}

/// A setting that is worth a word, unless its value is `silent`.
struct Phrase {
  std::string_view setting, before, after, silent;
};

constexpr std::array<Phrase, 13> kOfWorkload{{
    {"gradient_accumulation", "", " micro-batches", "1"},
    {"quantize", "", " weights", ""},
    {"kv_cache_dtype", "", " KV cache", "auto"},
    {"attention", "", " attention", ""},
    {"gradient_checkpointing", "", " checkpointing", ""},
    {"lora_rank", "LoRA rank ", "", "0"},
    {"loss", "", " loss", "torch"},
    {"offload", "", " offload", ""},
    {"init_device", "made on ", "", "cuda"},
    {"max_model_len", "", " tokens at most", ""},
    {"max_num_seqs", "", " sequences", ""},
    {"gpu_memory_utilization", "", " of memory", ""},
    {"engine", "", "", ""},
}};

constexpr std::array<Phrase, 10> kOfMesh{{
    {"gpus", "", " GPUs", "1"},
    {"dp", "data parallel ", "", "1"},
    {"zero", "ZeRO ", "", "0"},
    {"tp", "tensor parallel ", "", "1"},
    {"sp", "sequence parallel ", "", "1"},
    {"pp", "pipeline parallel ", "", "1"},
    {"vpp", "", " virtual stages", "1"},
    {"cp", "context parallel ", "", "1"},
    {"ep", "expert parallel ", "", "1"},
    {"etp", "expert tensor parallel ", "", "1"},
}};

template <std::size_t N>
void append(std::vector<std::string>& words, const std::vector<Setting>& settings,
            const std::array<Phrase, N>& phrases) {
  for (const Phrase& p : phrases)
    if (const std::string_view v = value_of(settings, p.setting); !v.empty() && v != p.silent)
      words.push_back(fmt::format("{}{}{}", p.before, v, p.after));
}

/// A language model goes without saying.
bool names_classifier(std::string_view task) {
  return task == "sequence-classification" || task == "token-classification" ||
         task == "question-answering" || task == "multiple-choice";
}

/// A trainer may hold its weights in another type than the one asked for. "fp32" says no more than
/// that nothing is cast: it then computes in the weights' own. Autocast casts whatever they are.
std::string precision_in_words(const std::vector<Setting>& workload) {
  const std::string_view precision = value_of(workload, "precision"),
                         weights = value_of(workload, "weights");
  if (weights.empty() || weights == precision || precision.starts_with("amp-"))
    return std::string(precision);
  return precision == "fp32" ? fmt::format("{} weights", weights)
                             : fmt::format("{} over {} weights", precision, weights);
}

}  // namespace

std::vector<std::string> taken_in_words(const std::vector<Setting>& w) {
  std::vector<std::string> words;
  const auto add = [&](std::string_view word) {
    if (!word.empty()) words.emplace_back(word);
  };
  add(value_of(w, "framework"));
  if (const std::string_view task = value_of(w, "task"); names_classifier(task)) add(task);
  const std::string_view batch = value_of(w, "micro_batch_size"),
                         tokens = value_of(w, "sequence_length");
  if (value_of(w, "task") == "image-classification")
    words.push_back(fmt::format("{} images", batch));
  else if (!batch.empty() && !tokens.empty())
    words.push_back(fmt::format("{} x {} tokens", batch, tokens));
  add(precision_in_words(w));
  return words;
}

std::vector<std::string> settings_in_words(const Prediction& prediction) {
  const auto& w = prediction.workload;
  std::vector<std::string> words;
  if (const std::string_view optimizer = value_of(w, "optimizer"); !optimizer.empty()) {
    const std::string_view impl = value_of(w, "optimizer_impl");
    words.push_back(impl.empty() ? std::string(optimizer)
                                 : fmt::format("{} ({})", optimizer, impl));
  }
  append(words, w, kOfWorkload);
  append(words, prediction.mesh, kOfMesh);
  if (!prediction.releases.empty()) words.push_back(prediction.releases);
  return words;
}

const RankReport& peak_rank(const Prediction& prediction) {
  const auto holds = [&](const RankReport& r) {
    return std::find(r.ranks.begin(), r.ranks.end(), prediction.peak_rank) != r.ranks.end();
  };
  const auto at = std::find_if(prediction.ranks.begin(), prediction.ranks.end(), holds);
  static const RankReport kNone;
  return at != prediction.ranks.end() ? *at
         : prediction.ranks.empty()   ? kNone
                                      : prediction.ranks.front();
}

Bytes needed(const Prediction& prediction) {
  if (prediction.within_limit_bytes) return *prediction.within_limit_bytes;
  return std::max(peak_rank(prediction).peak_device_bytes, before_the_step(prediction).value_or(0));
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string op_in_module(std::string_view op, std::string_view module) {
  if (module.empty()) return std::string(op);
  return op.empty() ? std::string(module) : fmt::format("{} in {}", op, module);
}

std::string failure_in_words(const Failure& f) {
  const std::string when = f.phase == Phase::init
                               ? "while the model is made"
                               : fmt::format("in step {}, {}", f.step + 1, name(f.phase));
  return fmt::format(
      "It fails {}: {} asks for {} {} {}; the allocator then asks the driver for {} with {} "
      "reserved, and gets nothing.",
      when, op_in_module(f.op, f.module), human_bytes(f.requested), shape_text(f.shape), f.dtype,
      human_bytes(f.segment), human_bytes(f.levels.reserved));
}

std::string QuietLine::text() const {
  std::string line = fmt::format("{}: {} on the device", name, human_bytes(needed));
  if (total) line += fmt::format(" of {}", human_bytes(*total));
  if (!verdict.empty()) line += ", " + verdict;
  if (room && *room >= 0)
    line += fmt::format("{} {} to spare", verdict.find(',') == verdict.npos ? " with" : ",",
                        human_bytes(*room));
  if (!reason.empty()) line += ": " + reason;
  return line + '\n';
}

std::string quiet_line(std::string_view name, std::initializer_list<std::string> figures) {
  std::string line(name);
  std::string_view before = ": ";
  for (const std::string& figure : figures) {
    if (figure.empty()) continue;
    line.append(before).append(figure);
    before = ", ";
  }
  return line + '\n';
}

std::string verdict_in_words(const Prediction& prediction) {
  const VerdictWord word = prediction.verdict.value_or(
      prediction.fits.value_or(true) ? VerdictWord::fits : VerdictWord::does_not_fit);
  return in_words(word, prediction.within_limit_bytes.has_value());
}

std::optional<Bytes> before_the_step(const Prediction& prediction) {
  if (!prediction.device || !prediction.failure || !prediction.headroom_bytes) return std::nullopt;
  const Bytes needed = prediction.device->total_bytes - *prediction.headroom_bytes;
  if (needed <= peak_rank(prediction).peak_device_bytes) return std::nullopt;
  return needed;
}

}  // namespace memtape::report
