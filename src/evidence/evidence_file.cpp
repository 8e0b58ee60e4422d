// SPDX-License-Identifier: Apache-2.0
#include "evidence/evidence_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/snapshot_reader.h"
#include "formats/trace.h"

namespace memtape {
namespace {

constexpr std::size_t kLongestTrace = std::size_t{2} << 30;
constexpr std::size_t kChunk = std::size_t{1} << 18;

bool of_smi(const LogFigure& figure) { return figure.program == "nvidia-smi"; }

Error in_file(Error error, const std::string& name) {
  error.where = error.where.empty() ? name : name + ", " + error.where;
  return error;
}

Result<std::vector<Recording>> recordings_in_pickle(ByteStream& stream, const std::string& name) {
  auto snapshot = read_snapshot(stream);
  if (!snapshot) return tl::unexpected(in_file(snapshot.error(), name));
  if (!stream.fault().empty())
    snapshot->warnings.push_back("the file ends early: " + std::string(stream.fault()));
  auto recordings = recordings_of(std::move(*snapshot), name.substr(name.rfind('/') + 1));
  if (recordings.empty())
    return bad_input("holds neither events nor segments", name,
                     "torch.cuda.memory._record_memory_history() before the run");
  return recordings;
}

}  // namespace

Result<EvidenceKind> evidence_kind(std::string_view head, const std::string& name) {
  if (head.empty()) return bad_input("is empty", name, "a snapshot, a trace, a log or a message");
  if (head.starts_with("PK\x03\x04"))
    return bad_input("is an archive, as torch.save writes it", name,
                     "torch.cuda.memory._dump_snapshot(FILE) writes what can be read");
  if (static_cast<unsigned char>(head[0]) == 0x80 && head.size() > 1 && head[1] >= 2 &&
      head[1] <= 5)
    return EvidenceKind::pickle;
  if (head.starts_with("(dp") || head.starts_with("(lp"))
    return bad_input("is a pickle of protocol 0 or 1", name, "protocols 2 to 5 can be read");
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool is_trace = first != head.npos && head[first] == '{' &&
                        head.substr(0, head.find('\n')).find("\"format\"") != head.npos;
  return is_trace ? EvidenceKind::trace : EvidenceKind::text;
}

Result<std::string> rest_of(ByteStream& stream, std::size_t limit, const std::string& name) {
  std::string text;
  for (std::size_t got = 1; got > 0;) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    got = stream.read(text.data() + size, kChunk);
    text.resize(size + got);
    if (text.size() > limit)
      return bad_input("holds more than " + human_bytes(static_cast<Bytes>(limit)), name);
  }
  return text;
}

Result<std::vector<Recording>> recordings_in(ByteStream& stream, EvidenceKind kind,
                                             const std::string& name) {
  if (kind == EvidenceKind::pickle) return recordings_in_pickle(stream, name);
  const auto text = rest_of(stream, kLongestTrace, name);
  if (!text) return tl::unexpected(text.error());
  if (!stream.fault().empty()) return bad_input("ends early", name, "a gzip file that is complete");
  auto trace = parse_trace(*text);
  if (!trace) return tl::unexpected(in_file(trace.error(), name));
  std::vector<Recording> made;
  made.push_back(recording_of(std::move(*trace)));
  return made;
}

Result<void> explain_text(std::string_view text, const std::string& name, Explanation& e) {
  std::vector<OomMessage> messages = oom_messages(text);
  std::vector<LogFigure> figures = log_figures(text);
  if (messages.empty() && figures.empty())
    return bad_input(
        "holds no memory figures that are known", name,
        "a snapshot, a trace, an out-of-memory message, or a log of vLLM, SGLang, llama.cpp, "
        "Megatron, torchtitan, DeepSpeed, axolotl, torchtune, ms-swift, nvidia-smi or "
        "torch.cuda.memory_summary()");
  for (OomMessage& message : messages) e.messages.push_back(explained(std::move(message), figures));
  e.figures.insert(e.figures.end(), figures.begin(), figures.end());
  return {};
}

Result<void> explain_recordings(std::vector<Recording> recordings,
                                std::optional<std::int64_t> device, const std::string& name,
                                Explanation& e) {
  bool found = false;
  for (Recording& recording : recordings) {
    if (device && recording.device != *device) continue;
    found = true;
    e.recordings.push_back(explained(std::move(recording)));
    const Recording& kept = e.recordings.back().recording;
    for (const std::string& warning : kept.warnings)
      e.warnings.push_back(fmt::format("{}: {}", kept.name, warning));
  }
  if (!found)
    return bad_input(fmt::format("holds nothing of device {}", device.value_or(-1)), name);
  return {};
}

std::string explanation_kind(const Explanation& e, EvidenceKind first) {
  if (!e.recordings.empty()) return first == EvidenceKind::trace ? "trace" : "snapshot";
  if (!e.messages.empty()) return "oom";
  return std::ranges::all_of(e.figures, of_smi) ? "nvidia-smi" : "log";
}

}  // namespace memtape
