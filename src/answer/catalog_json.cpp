// SPDX-License-Identifier: Apache-2.0
#include "answer/catalog_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "family/registry.h"
#include "mesh/gpu_speeds.h"
#include "report/json_writer.h"

namespace memtape::answer {
namespace {

using report::JsonWriter;

void write_bytes(JsonWriter& json, std::string_view key, Bytes bytes, Certainty certainty) {
  json.key(key);
  certainty == Certainty::unknown ? json.null() : json.value(bytes);
}

/// By its data sheet; null where nobody published the figure.
void write_speeds(JsonWriter& json, const GpuSpeeds& s) {
  for (const auto& [key, figure] :
       {std::pair("tflops_fp32", s.tflops_fp32), std::pair("tflops_bf16", s.tflops_bf16),
        std::pair("tflops_fp16", s.tflops_fp16), std::pair("tflops_fp8", s.tflops_fp8),
        std::pair("tflops_fp4", s.tflops_fp4), std::pair("memory_gb_s", s.memory_gb_s),
        std::pair("link_gb_s", s.link_gb_s), std::pair("pcie_gb_s", s.pcie_gb_s),
        std::pair("network_gb_s", s.network_gb_s)}) {
    json.key(key);
    figure > 0 ? json.raw(fmt::format("{:.6g}", figure)) : json.null();
  }
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
  write_speeds(json, speeds_of(gpu.id));
  json.end_object();
}

void write_entry(JsonWriter& json, const CatalogEntry& entry) {
  json.begin_object();
  json.member("id", entry.id);
  json.member("family", entry.family);
  json.key("parameters");
  entry.parameters > 0 ? json.value(entry.parameters) : json.null();
  json.member("supported", is_supported(entry.family));
  json.end_object();
}

void write_checkpoint(JsonWriter& json, const TensorList& header) {
  json.begin_object();
  json.member("tensors", static_cast<std::int64_t>(header.tensors.size()));
  json.member("elements", header.total_elements());
  json.member("bytes", header.total_bytes());
  json.key("dtypes");
  json.begin_object();
  for (const auto& [dtype, count] : dtypes_of(header)) json.member(dtype, count);
  json.end_object();
  json.end_object();
}

void write_model(JsonWriter& json, const ModelFacts& facts) {
  json.begin_object();
  json.member("id", facts.source.id);
  json.member("from", facts.source.where);
  json.key("family");
  facts.family.empty() ? json.null() : json.value(facts.family);
  json.member("supported", is_supported(facts.family));
  if (facts.entry != nullptr) {
    json.key("parameters");
    facts.entry->parameters > 0 ? json.value(facts.entry->parameters) : json.null();
    json.member("parameters_source", facts.entry->parameters_source);
    json.member("config_source", facts.entry->config_source);
  }
  json.key("checkpoint");
  facts.source.header ? write_checkpoint(json, *facts.source.header) : json.null();
  json.key("config");
  facts.source.config ? json.raw(facts.source.config->json()) : json.null();
  json.end_object();
}

}  // namespace

Result<std::vector<Gpu>> gpus_named(const std::string& id) {
  if (id.empty()) return gpu_catalog();
  Result<Gpu> gpu = find_gpu(id, "gpus");
  if (!gpu) return tl::unexpected(gpu.error());
  return std::vector<Gpu>{std::move(*gpu)};
}

std::string capability_text(const Gpu& gpu) {
  return gpu.runs_cuda() ? fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor) : "-";
}

std::string gpus_json(std::span<const Gpu> gpus) {
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

bool is_supported(std::string_view family) {
  return std::ranges::any_of(family::families(),
                             [&](const auto* f) { return f->model_type == family; });
}

std::string models_json(std::span<const CatalogEntry> models) {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "models");
  json.key("models");
  json.begin_array();
  for (const CatalogEntry& entry : models) write_entry(json, entry);
  json.end_array();
  json.end_object();
  return std::move(json).take() + "\n";
}

ModelFacts facts_of(const ModelSource& source) {
  const bool from_catalog = source.where == "catalog";
  return {source, from_catalog ? find_model(source.id) : nullptr,
          source.config ? source.config->optional_text("model_type").value_or("") : ""};
}

std::map<std::string, std::int64_t> dtypes_of(const TensorList& header) {
  std::map<std::string, std::int64_t> counts;
  for (const StoredTensor& tensor : header.tensors) ++counts[tensor.dtype];
  return counts;
}

std::string model_json(const ModelFacts& facts) {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "models");
  json.key("model");
  write_model(json, facts);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : facts.source.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  return std::move(json).take() + "\n";
}

}  // namespace memtape::answer
