// SPDX-License-Identifier: Apache-2.0
#include "evidence/log_tables.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size() && words.size() < 64;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
    const std::size_t from = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t' && line[at] != '\r') ++at;
    if (at > from) words.push_back(line.substr(from, at - from));
  }
  return words;
}

/// The cells between the bars of "| a | b |".
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t from = line.find('|');
  while (from != line.npos && cells.size() < 16) {
    const std::size_t to = line.find('|', from + 1);
    if (to == line.npos) break;
    cells.push_back(trimmed(line.substr(from + 1, to - from - 1)));
    from = to;
  }
  return cells;
}

LogFigure figure(std::string program, std::string name, std::string where, const Quantity& q,
                 std::size_t line) {
  return {.program = std::move(program),
          .name = std::move(name),
          .where = std::move(where),
          .first = static_cast<double>(q.bytes),
          .within = q.within,
          .line = line};
}

}  // namespace

std::vector<LogFigure> LogTables::read(std::string_view line, std::size_t number) {
  std::vector<LogFigure> found;
  if (line.find("memory_breakdown_print") != line.npos) {
    read_breakdown(line, number, found);
  } else if (line.find('|') != line.npos) {
    read_summary(line, number, found);
    if (summary_device_.empty()) read_smi(line, number, found);
  } else {
    if (!line.starts_with('+')) summary_device_.clear();
    read_pmon(line, number, found);
  }
  return found;
}

/// A GPU takes two rows, "|   0  NVIDIA A100 ... |" and "| N/A 29C ... | 1234MiB / 81920MiB |"; a
/// process one, "|    0   N/A  N/A   4711   C   python   5678MiB |".
void LogTables::read_smi(std::string_view line, std::size_t number, std::vector<LogFigure>& found) {
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.empty()) return;
  const std::vector<std::string_view> words = words_of(cells.front());
  const bool is_number =
      !words.empty() && words.front().find_first_not_of("0123456789") == std::string_view::npos;
  const std::int64_t first = is_number ? whole_at(words.front()).value_or(-1) : -1;
  if (first >= 0 && first < 1024) gpu_ = static_cast<int>(first);
  for (const std::string_view cell : cells) {
    const std::size_t slash = cell.find("MiB /");
    if (slash == cell.npos || gpu_ < 0) continue;
    const auto used = quantity_at(cell), total = quantity_at(cell.substr(slash + 5));
    if (!used || !total) continue;
    const std::string gpu = fmt::format("GPU {}", gpu_);
    found.push_back(figure("nvidia-smi", "used", gpu, *used, number));
    found.push_back(figure("nvidia-smi", "total", gpu, *total, number));
  }
  const bool is_process =
      cells.size() == 1 && words.size() >= 5 && first >= 0 && words.back().ends_with("MiB");
  if (!is_process) return;
  const auto held = quantity_at(words.back());
  const auto type = std::ranges::find_if(words, [](std::string_view word) {
    return word == "C" || word == "G" || word == "C+G" || word == "M+C";
  });
  if (!held || type == words.begin() || type == words.end()) return;
  const std::string_view name = type + 1 < words.end() - 1 ? *(type + 1) : std::string_view();
  found.push_back(figure("nvidia-smi", fmt::format("process {} {}", *(type - 1), name),
                         fmt::format("GPU {}", first), *held, number));
}

/// "|   - CUDA0 (RTX 4090)   | 24077 = 5098 + (18414 = 16100 + 1824 + 490) + 565 |", in MiB: total, free,
/// self, model, context, compute and what is not accounted for; of the host the four in the middle
/// (llama.cpp's common_memory_breakdown_print).
void LogTables::read_breakdown(std::string_view line, std::size_t number,
                               std::vector<LogFigure>& found) {
  constexpr std::array<std::string_view, 7> kNames{"total",   "free",    "self",       "model",
                                                   "context", "compute", "unaccounted"};
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.size() < 2 || !cells[0].starts_with("- ")) return;
  const std::string_view device = words_of(cells[0].substr(2)).front();
  std::vector<std::int64_t> values;
  for (std::string_view word : words_of(cells[1])) {
    const bool is_opened = word.starts_with('('), is_below = word.starts_with('-');
    if (is_opened || is_below) word.remove_prefix(1);
    const auto value = whole_at(word);
    if (value && *value < (std::int64_t{1} << 32)) values.push_back(is_below ? -*value : *value);
  }
  if (values.size() != kNames.size() && values.size() != 4) return;
  const std::size_t first = values.size() == 4 ? 2 : 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    found.push_back(figure("llama.cpp", std::string(kNames[first + i]), std::string(device),
                           {values[i] * 1_MiB, 512_KiB}, number));
}

/// "# gpu pid type fb ccpm command" names the columns of the rows below; fb is in MB of 2^20.
void LogTables::read_pmon(std::string_view line, std::size_t number,
                          std::vector<LogFigure>& found) {
  const std::vector<std::string_view> words = words_of(line);
  if (words.size() > 2 && words[0] == "#" && words[1] == "gpu") {
    pmon_columns_.assign(words.begin() + 1, words.end());
    return;
  }
  if (pmon_columns_.empty() || words.size() < 3 || words[0] == "#") return;
  const auto column = [&](std::string_view name) {
    const auto at = std::ranges::find(pmon_columns_, name) - pmon_columns_.begin();
    return static_cast<std::size_t>(at) < words.size() ? words[static_cast<std::size_t>(at)]
                                                       : std::string_view();
  };
  const auto gpu = whole_at(column("gpu")), pid = whole_at(column("pid")),
             held = whole_at(column("fb"));
  if (!gpu || !pid || !held || *held < 0 || *held > (Bytes{1} << 27)) return;
  found.push_back(figure("nvidia-smi", fmt::format("process {} {}", *pid, column("command")),
                         fmt::format("GPU {}", *gpu), {*held * 1_MiB, 512_KiB}, number));
}

/// "| Allocated memory | 1062 MB | 4877 MB | ..." of torch.cuda.memory_summary(): now and peak. Its
/// units are powers of two.
void LogTables::read_summary(std::string_view line, std::size_t number,
                             std::vector<LogFigure>& found) {
  constexpr std::string_view kTitle = "CUDA memory summary, device ID";
  if (const std::size_t at = line.find(kTitle); at != line.npos) {
    const auto device = whole_at(line.substr(at + kTitle.size()));
    summary_device_ = fmt::format("GPU {}", device.value_or(0));
    return;
  }
  struct Row {
    std::string_view title, name;
  };
  constexpr std::array<Row, 5> kRows{{{"Allocated memory", "allocated"},
                                      {"Active memory", "active"},
                                      {"Requested memory", "requested"},
                                      {"GPU reserved memory", "reserved"},
                                      {"Non-releasable memory", "non_releasable"}}};
  const std::vector<std::string_view> cells = cells_of(line);
  if (cells.size() < 3) return;
  const auto* const row = std::ranges::find(kRows, cells[0], &Row::title);
  if (row == kRows.end()) return;
  if (summary_device_.empty()) summary_device_ = "GPU 0";  // its title was not pasted
  const auto now = quantity_at(cells[1]), peak = quantity_at(cells[2]);
  if (now) found.push_back(figure("torch", std::string(row->name), summary_device_, *now, number));
  if (peak)
    found.push_back(
        figure("torch", fmt::format("peak_{}", row->name), summary_device_, *peak, number));
}

}  // namespace memtape
