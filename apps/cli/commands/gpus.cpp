// SPDX-License-Identifier: Apache-2.0
// `memtape gpus [ID]`: the GPUs that --gpu knows, and what each gives a program.
#include <span>
#include <string>

#include <fmt/format.h>

#include "answer/catalog_json.h"
#include "answer/table.h"
#include "base/text.h"
#include "commands.h"

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

std::string catalog_text(std::span<const Gpu> gpus, const OutputOptions& output) {
  using enum Table::Align;
  Table table({left, left, right, right, right, left, left});
  const bool sources = output.explain;
  if (!output.quiet)
    table.add({"GPU", "NAME", "CAPABILITY", "SMs", "GiB", "FIGURE", sources ? "SOURCE" : ""});
  for (const Gpu& gpu : gpus)
    table.add({std::string(gpu.id), clipped(gpu.name, kLongestName), capability_text(gpu),
               gpu.sm_count > 0 ? std::to_string(gpu.sm_count) : "-", total_text(gpu),
               std::string(name(gpu.total_certainty)), sources ? gpu.total_source : ""});
  std::string text = table.text();
  if (!output.quiet)
    text +=
        "\nGiB (2^30 bytes): all that CUDA gives a program, less than nvidia-smi shows.\n"
        "exact: printed to the byte by a device; rounded: printed, the least value that\n"
        "prints so; estimated: by the rule that memtape gpus GPU names.\n";
  return text;
}

std::string figure_text(Bytes bytes, Certainty certainty, std::string_view source) {
  if (certainty == Certainty::unknown) return "unknown";
  return fmt::format("{} bytes, {} ({}: {})", with_commas(bytes), gib(bytes), name(certainty),
                     source);
}

std::string entry_text(const Gpu& gpu) {
  std::string text = fmt::format("{}: {}\n", gpu.id, gpu.name);
  text += fmt::format("  architecture  {} ({})\n", gpu.architecture, gpu.vendor);
  if (gpu.runs_cuda()) text += fmt::format("  capability    {}\n", capability_text(gpu));
  if (gpu.sm_count > 0) text += fmt::format("  SMs           {}\n", gpu.sm_count);
  text += fmt::format("  total         {}\n",
                      figure_text(gpu.total_bytes, gpu.total_certainty, gpu.total_source));
  if (gpu.runs_cuda())
    text += fmt::format("  context       {}\n",
                        figure_text(gpu.context_bytes, gpu.context_certainty, gpu.context_source));
  if (!gpu.notes.empty()) text += fmt::format("  notes         {}\n", gpu.notes);
  return text;
}

}  // namespace

int run_gpus(const GpusOptions& options, Terminal& terminal) {
  const Result<std::vector<Gpu>> gpus = answer::gpus_named(options.id);
  if (!gpus) return terminal.fail(gpus.error());
  if (options.output.json)
    terminal.print(answer::gpus_json(*gpus));
  else
    terminal.print(options.id.empty() ? catalog_text(*gpus, options.output)
                                      : entry_text(gpus->front()));
  return ExitCode::fits;
}

}  // namespace memtape::cli
