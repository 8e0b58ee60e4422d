// SPDX-License-Identifier: Apache-2.0
// `memtape gpus [ID]`: the GPUs that --gpu knows, and what each gives a program.
#include <initializer_list>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "answer/catalog_json.h"
#include "answer/table.h"
#include "base/text.h"
#include "commands.h"
#include "mesh/gpu_speeds.h"
#include "report/headline.h"
#include "report/style.h"

namespace memtape::cli {
namespace {

using answer::capability_text;
using answer::clipped;
using answer::Table;

constexpr std::size_t kLongestName = 36;

std::string total_text(const Gpu& gpu) {
  if (gpu.total_bytes == 0) return "-";
  return fmt::format("{:.2f}", static_cast<double>(gpu.total_bytes) / static_cast<double>(1_GiB));
}

std::string speed_text(double figure) {
  return figure > 0 ? fmt::format("{:.4g}", figure) : std::string("-");
}

std::string quiet_gpus(std::span<const Gpu> gpus) {
  std::string text;
  for (const Gpu& gpu : gpus)
    text += report::quiet_line(
        gpu.id, {std::string(gpu.name), gpu.total_bytes > 0 ? gib(gpu.total_bytes) : ""});
  return text;
}

std::string gpus_text(std::span<const Gpu> gpus, const OutputOptions& output,
                      answer::Widths widths) {
  using enum Table::Align;
  if (output.quiet) return quiet_gpus(gpus);
  Table table({left, left, right, right, right, left, right, right, right, right, left});
  const bool sources = output.explain;
  table.add({"GPU", "NAME", "CAPABILITY", "SMs", "GiB", "FIGURE", "BF16", "FP8", "GB/s", "LINK",
             sources ? "SOURCE" : ""});
  for (const Gpu& gpu : gpus) {
    const GpuSpeeds speeds = speeds_of(gpu.id);
    table.add({std::string(gpu.id), clipped(gpu.name, kLongestName), capability_text(gpu),
               gpu.sm_count > 0 ? std::to_string(gpu.sm_count) : "-", total_text(gpu),
               std::string(name(gpu.total_certainty)), speed_text(speeds.tflops_bf16),
               speed_text(speeds.tflops_fp8), speed_text(speeds.memory_gb_s),
               speed_text(speeds.link_gb_s), sources ? gpu.total_source : ""});
  }
  std::string text = table.text(widths.tables);
  text +=
      "\nGiB (2^30 bytes): all that CUDA gives a program, less than nvidia-smi shows.\n"
      "exact: printed to the byte by a device; rounded: printed, the least value that\n"
      "prints so; estimated: by the rule that memtape gpus GPU names. By data sheets:\n"
      "BF16, FP8: dense TFLOPS; GB/s: of its memory; LINK: GB/s of NVLink or its like,\n"
      "one direction.\n";
  return text;
}

std::string figure_text(Bytes bytes, Certainty certainty, std::string_view source) {
  if (certainty == Certainty::unknown) return "unknown";
  return fmt::format("{} bytes, {} ({}: {})", with_commas(bytes), gib(bytes), name(certainty),
                     source);
}

std::string joined(std::initializer_list<std::pair<const char*, double>> figures) {
  std::string text;
  for (const auto& [what, figure] : figures)
    if (figure > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, speed_text(figure));
  return text;
}

/// A line for each kind of figure that a data sheet has.
void add_speeds(report::Facts& facts, const GpuSpeeds& s) {
  const std::string rates = joined({{"bf16", s.tflops_bf16},
                                    {"fp16", s.tflops_fp16},
                                    {"fp8", s.tflops_fp8},
                                    {"fp4", s.tflops_fp4},
                                    {"fp32", s.tflops_fp32}});
  if (!rates.empty()) facts.add("TFLOPS", rates + " (dense)");
  if (s.memory_gb_s > 0) facts.add("memory", fmt::format("{:.4g} GB/s", s.memory_gb_s));
  const std::string links = joined(
      {{"NVLink or its like", s.link_gb_s}, {"PCIe", s.pcie_gb_s}, {"network", s.network_gb_s}});
  if (!links.empty()) facts.add("links", links + " GB/s, one direction");
}

std::string entry_text(const Gpu& gpu, int width) {
  report::Facts facts(width, "architecture");
  facts.add("architecture", fmt::format("{} ({})", gpu.architecture, gpu.vendor));
  if (gpu.runs_cuda()) facts.add("capability", capability_text(gpu));
  if (gpu.sm_count > 0) facts.add("SMs", fmt::format("{}", gpu.sm_count));
  facts.add("total", figure_text(gpu.total_bytes, gpu.total_certainty, gpu.total_source));
  if (gpu.runs_cuda())
    facts.add("context", figure_text(gpu.context_bytes, gpu.context_certainty, gpu.context_source));
  add_speeds(facts, speeds_of(gpu.id));
  if (!gpu.notes.empty()) facts.add("notes", gpu.notes);
  return fmt::format("{}: {}\n{}", gpu.id, gpu.name, std::move(facts).take());
}

int run_gpus(const Words& words, Terminal& terminal) {
  const std::string id = words.operand();
  const OutputOptions output = output_of(words);
  const Result<std::vector<Gpu>> gpus = answer::gpus_named(id);
  if (!gpus) return terminal.fail(gpus.error());
  if (output.json)
    terminal.print(answer::gpus_json(*gpus));
  else
    terminal.print(id.empty() || output.quiet ? gpus_text(*gpus, output, terminal.widths())
                                              : entry_text(gpus->front(), terminal.width()));
  return ExitCode::fits;
}

constexpr Operand kGpu{.name = "ID",
                       .help = "only this entry, in full",
                       .is_required = false,
                       .meant = "--gpu --name"};

}  // namespace

const Command kGpusCommand{
    .name = "gpus",
    .usage = "[ID]",
    .summary = "the GPUs that are known by name",
    .example = "memtape gpus h100-80gb",
    .operands = {&kGpu, 1},
    .run = run_gpus,
};

}  // namespace memtape::cli
