// SPDX-License-Identifier: Apache-2.0
// `memtape gpus [ID]`: the GPUs that --gpu knows, and what each gives a program.
#include <span>
#include <string>

#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "mesh/gpu_catalog.h"
#include "report/json_writer.h"
#include "table.h"

namespace memtape::cli {
namespace {

using report::JsonWriter;

constexpr std::size_t kLongestName = 36;

std::string capability_text(const Gpu& gpu) {
  return gpu.runs_cuda() ? fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor) : "-";
}

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

void write_bytes(JsonWriter& json, std::string_view key, Bytes bytes, Certainty certainty) {
  json.key(key);
  certainty == Certainty::unknown ? json.null() : json.value(bytes);
}

void write_gpu(JsonWriter& json, const Gpu& gpu) {
  json.begin_object();
  json.member("id", gpu.id);
  json.member("name", gpu.name);
  json.member("vendor", gpu.vendor);
  json.member("architecture", gpu.architecture);
  json.key("compute_capability");
  gpu.runs_cuda() ? json.value(capability_text(gpu)) : json.null();
  json.key("sm_count");
  gpu.sm_count > 0 ? json.value(gpu.sm_count) : json.null();
  write_bytes(json, "total_bytes", gpu.total_bytes, gpu.total_certainty);
  json.member("total_certainty", name(gpu.total_certainty));
  json.member("total_source", gpu.total_source);
  write_bytes(json, "context_bytes", gpu.context_bytes, gpu.context_certainty);
  json.member("context_certainty", name(gpu.context_certainty));
  json.member("context_source", gpu.context_source);
  json.member("notes", gpu.notes);
  json.end_object();
}

std::string catalog_json(std::span<const Gpu> gpus) {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "gpus");
  json.key("gpus");
  json.begin_array();
  for (const Gpu& gpu : gpus) write_gpu(json, gpu);
  json.end_array();
  json.end_object();
  return std::move(json).take() + "\n";
}

}  // namespace

int run_gpus(const GpusOptions& options, Terminal& terminal) {
  std::vector<Gpu> gpus;
  if (options.id.empty()) {
    gpus = gpu_catalog();
  } else {
    const Result<Gpu> gpu = find_gpu(options.id, "gpus");
    if (!gpu) return terminal.fail(gpu.error());
    gpus.push_back(*gpu);
  }
  if (options.output.json)
    terminal.print(catalog_json(gpus));
  else
    terminal.print(options.id.empty() ? catalog_text(gpus, options.output) : entry_text(gpus[0]));
  return ExitCode::fits;
}

}  // namespace memtape::cli
