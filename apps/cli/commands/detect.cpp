// SPDX-License-Identifier: Apache-2.0
// `memtape detect`: the GPUs of this machine, what is free on them now, and who holds the rest.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "answer/table.h"
#include "base/text.h"
#include "commands.h"
#include "mesh/gpu_catalog.h"
#include "nvml.h"
#include "report/headline.h"
#include "report/json_parts.h"

namespace memtape::cli {
namespace {

using answer::clipped;
using answer::Table;
using report::JsonWriter;

constexpr std::size_t kLongestCommand = 48;

/// The catalog's id of a device of that name; "" for one that it does not have.
std::string catalog_id(const std::string& name) {
  for (const Gpu& gpu : gpu_catalog())
    if (gpu.name == name) return std::string(gpu.id);
  return {};
}

std::string links_of(const LocalGpu& gpu) {
  std::string text;
  if (gpu.nvlinks > 0) text = fmt::format("{} NVLinks", gpu.nvlinks);
  if (gpu.pcie_generation > 0)
    text +=
        fmt::format("{}PCIe {} x{}", text.empty() ? "" : ", ", gpu.pcie_generation, gpu.pcie_width);
  return text.empty() ? "-" : text;
}

std::string processes_text(const LocalGpu& gpu) {
  std::string text;
  for (const GpuProcess& p : gpu.processes)
    text += fmt::format("    GPU {}  process {:>8}  {:>10}  {}{}\n", gpu.index, p.pid,
                        p.used < 0 ? "not said" : human_bytes(p.used),
                        clipped(p.command, kLongestCommand),
                        p.container.empty() ? "" : ", container " + p.container);
  return text;
}

std::string quiet_machine(const std::vector<LocalGpu>& gpus) {
  std::string text;
  for (const LocalGpu& gpu : gpus)
    text +=
        report::quiet_line(fmt::format("GPU {}", gpu.index),
                           {gpu.name, fmt::format("{} of {} free", gib(gpu.free), gib(gpu.total))});
  return text;
}

std::string machine_text(const LocalGpus& local, const OutputOptions& output,
                         answer::Widths widths) {
  if (local.gpus.empty()) return fmt::format("no GPU: {}\n", local.none);
  using enum Table::Align;
  if (output.quiet) return quiet_machine(local.gpus);
  Table table({right, left, left, right, right, right, left});
  table.add({"GPU", "NAME", "--gpu", "TOTAL", "USED", "FREE NOW", "LINKS"});
  std::string processes;
  for (const LocalGpu& gpu : local.gpus) {
    const std::string id = catalog_id(gpu.name);
    table.add({std::to_string(gpu.index), gpu.name, id.empty() ? "-" : id, gib(gpu.total),
               gib(gpu.used), gib(gpu.free), links_of(gpu)});
    processes += processes_text(gpu);
  }
  std::string text = table.text(widths.tables);
  if (!processes.empty()) text += "\n" + processes;
  if (!local.driver.empty())
    text += fmt::format("\ndriver {}, CUDA {}\n", local.driver, local.cuda);
  return text;
}

void write_gpu(JsonWriter& out, const LocalGpu& gpu) {
  out.begin_object();
  out.member("gpu", gpu.index);
  out.member("name", gpu.name);
  out.member("id", catalog_id(gpu.name));
  out.member("uuid", gpu.uuid);
  out.member("bus", gpu.bus);
  out.member("capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor));
  out.member("total_bytes", gpu.total);
  out.member("used_bytes", gpu.used);
  out.member("free_bytes", gpu.free);
  out.member("nvlinks", gpu.nvlinks);
  out.member("pcie_generation", gpu.pcie_generation);
  out.member("pcie_width", gpu.pcie_width);
  out.key("processes");
  out.begin_array();
  for (const GpuProcess& p : gpu.processes) {
    out.begin_object();
    out.member("pid", p.pid);
    report::member_or_null(out, "used_bytes", p.used < 0 ? std::nullopt : std::optional(p.used));
    out.member("command", p.command);
    out.member("container", p.container);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

std::string machine_json(const LocalGpus& local) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "detect");
  out.member("driver", local.driver);
  out.member("cuda", local.cuda);
  out.key("gpus");
  out.begin_array();
  for (const LocalGpu& gpu : local.gpus) write_gpu(out, gpu);
  out.end_array();
  out.member("none", local.none);
  out.end_object();
  return std::move(out).take() + "\n";
}

int run_detect(const Words& words, Terminal& terminal) {
  const OutputOptions output = output_of(words);
  const bool watches = words.has("watch");
  for (;;) {
    const LocalGpus local = local_gpus();
    if (watches && !output.json && isatty(STDOUT_FILENO) != 0) terminal.print("\033[H\033[2J");
    terminal.print(output.json ? machine_json(local)
                               : machine_text(local, output, terminal.widths()));
    if (!watches || local.gpus.empty() || !terminal.flush()) return ExitCode::fits;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

constexpr auto kDetectOptions = std::to_array<Option>({
    {"--watch", "", "again every second, until it is ended"},
});

}  // namespace

const Command kDetectCommand{
    .name = "detect",
    .summary = "the GPUs of this machine: what is free now, and who holds the rest",
    .explanation =
        "free and total memory and what processes hold are what the driver says (NVML); "
        "the GPU's other figures are those of memtape gpus",
    .example = "memtape detect --json",
    .own = kDetectOptions,
    .run = run_detect,
};

}  // namespace memtape::cli
