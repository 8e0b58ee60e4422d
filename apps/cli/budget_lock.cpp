// SPDX-License-Identifier: Apache-2.0
#include "budget_lock.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "report/json_writer.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

using Json = nlohmann::ordered_json;
using report::JsonWriter;

constexpr std::size_t kLargestLock = std::size_t{64} << 20;

Bytes bytes_at(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_number_integer() ? found->get<Bytes>() : 0;
}

std::string locked_text(const Json& from, const char* key) {
  const auto found = from.find(key);
  return found != from.end() && found->is_string() ? found->get<std::string>() : "";
}

/// {"input": 512, "activation": {"model.layers.*.mlp mm": 1024}}
report::PeakParts parts_at(const Json& run) {
  report::PeakParts parts;
  const auto found = run.find("at_peak");
  if (found == run.end() || !found->is_object()) return parts;
  for (const auto& [category, held] : found->items()) {
    if (held.is_number_integer()) parts[category][""] = held.get<Bytes>();
    if (!held.is_object()) continue;
    for (const auto& [maker, bytes] : held.items())
      if (bytes.is_number_integer()) parts[category][maker] = bytes.get<Bytes>();
  }
  return parts;
}

void write_makers(JsonWriter& out, const report::BytesByMaker& makers) {
  if (makers.size() == 1 && makers.contains("")) return out.value(makers.at(""));
  out.begin_object();
  for (const auto& [maker, bytes] : makers) out.member(maker, bytes);
  out.end_object();
}

}  // namespace

std::string lock_file_of(const std::string& budget_file) {
  return std::filesystem::path(budget_file).replace_extension(".lock").string();
}

Result<Lock> read_lock(const std::string& file) {
  Lock lock;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return lock;
  const Result<std::string> text = sources::read_text_file(file, kLargestLock);
  if (!text) return tl::unexpected(text.error());
  const Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("runs") ||
      !json["runs"].is_object())
    return memtape::bad_input("is no lock file", file, "memtape check --update writes it anew");
  for (const auto& [name, run] : json["runs"].items())
    if (run.is_object())
      lock[name] = {locked_text(run, "command"),
                    {bytes_at(run, "peak_device_bytes"), parts_at(run)}};
  return lock;
}

Result<void> write_lock(const std::string& file, const Lock& lock) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.key("runs");
  out.begin_object();
  for (const auto& [name, run] : lock) {
    out.key(name);
    out.begin_object();
    out.member("command", run.command);
    out.member("peak_device_bytes", run.need.peak);
    out.key("at_peak");
    out.begin_object();
    for (const auto& [category, makers] : run.need.parts) {
      out.key(category);
      write_makers(out, makers);
    }
    out.end_object();
    out.end_object();
  }
  out.end_object();
  out.end_object();
  return sources::write_file(file, std::move(out).take());
}

}  // namespace memtape::cli
