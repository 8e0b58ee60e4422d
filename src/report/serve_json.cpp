// SPDX-License-Identifier: Apache-2.0
#include "report/serve_json.h"

#include <fmt/format.h>

#include "report/json_parts.h"

namespace memtape::report {
namespace {

void write_group(JsonWriter& out, const KvGroup& group) {
  out.begin_object();
  out.member("kind", group.kind);
  out.member("layers", group.layers);
  out.member("tokens", group.tokens);
  out.member("bytes_per_token", group.bytes_per_token);
  out.member("bytes", group.bytes);
  out.member("key_type", group.key_type);
  out.member("value_type", group.value_type);
  out.end_object();
}

void write_cache(JsonWriter& out, const KvCache& cache) {
  out.begin_object();
  member_or_null(out, "bytes_per_token", cache.bytes_per_token);
  out.member("block_size", cache.block_size);
  out.member("num_blocks", cache.num_blocks);
  out.member("tokens", cache.tokens);
  out.key("max_concurrency");
  cache.max_concurrency ? out.raw(fmt::format("{:.4f}", *cache.max_concurrency)) : out.null();
  out.member("bytes", cache.bytes);
  out.key("layers");
  out.begin_array();
  for (const KvGroup& group : cache.layers) write_group(out, group);
  out.end_array();
  out.end_object();
}

void write_serve_phases(JsonWriter& out, const std::vector<ServePhase>& phases) {
  out.begin_object();
  for (const ServePhase& phase : phases) {
    out.key(phase.name);
    out.begin_object();
    write(out, "peak", phase.peak);
    out.end_object();
  }
  out.end_object();
}

void write_serve_rank(JsonWriter& out, const ServeRank& rank) {
  out.begin_object();
  out.key("ranks");
  out.begin_row();
  for (const int r : rank.ranks) out.value(r);
  out.end_array();
  out.member("stage", rank.stage);
  out.member("weights_bytes", rank.weights_bytes);
  out.member("activation_peak_bytes", rank.activation_peak_bytes);
  out.member("non_torch_bytes", rank.non_torch_bytes);
  out.member("cuda_graph_bytes", rank.cuda_graph_bytes);
  member_or_null(out, "load_peak_bytes", rank.load_peak_bytes);
  out.key("kv_cache");
  write_cache(out, rank.kv_cache);
  if (rank.peak) write(out, "peak", *rank.peak);
  out.member("peak_device_bytes", rank.peak_device_bytes);
  out.key("at_peak");
  write(out, rank.at_peak);
  out.key("phases");
  write_serve_phases(out, rank.phases);
  for (const auto& [key, bytes] : rank.measured) out.member(key, bytes);
  out.end_object();
}

void write_buffers(JsonWriter& out, const std::vector<BufferBytes>& buffers) {
  out.key("buffers");
  out.begin_object();
  for (const BufferBytes& buffer : buffers) {
    out.key(buffer.name);
    out.begin_object();
    out.member("model_bytes", buffer.model);
    out.member("context_bytes", buffer.context);
    out.member("compute_bytes", buffer.compute);
    out.end_object();
  }
  out.end_object();
}

void write_users(JsonWriter& out, const Users& users) {
  out.key("users");
  out.begin_object();
  out.key("asked");
  users.asked > 0 ? out.value(users.asked) : out.null();
  out.member("context", users.context);
  out.member("output", users.output);
  out.member("fit", users.fit);
  out.member("bytes_per_user", users.bytes);
  out.end_object();
}

void write_solved(JsonWriter& out, const Solved& solved) {
  out.key("solved");
  out.begin_object();
  out.member("flag", solved.flag);
  out.member("value", solved.value);
  out.member("beyond", solved.beyond);
  out.end_object();
}

/// Whatever is said of loading is null where it is not modelled, and the verdict without a device.
void write_loading(JsonWriter& out, const ServeAnswer& answer) {
  std::optional<Bytes> peak;
  if (answer.loading) peak = answer.loading->peak_bytes;
  member_or_null(out, "load_peak_bytes", peak);
  const bool is_judged = answer.loading.has_value() && answer.device.has_value();
  out.key("load_verdict");
  is_judged ? out.value(name(answer.loading->verdict())) : out.null();
  if (!answer.loading || !answer.loading->failed) return;
  const LoadFailure& failed = *answer.loading->failed;
  out.key("load_failure");
  out.begin_object();
  out.member("module", failed.module);
  out.member("op", failed.op);
  out.member("requested_bytes", failed.requested_bytes);
  out.member("held_allocated_bytes", failed.held_allocated_bytes);
  out.end_object();
}

const KvCache& cache_of(const ServeAnswer& answer) {
  static const KvCache kNone;
  for (const ServeRank& rank : answer.ranks)
    for (const int r : rank.ranks)
      if (r == answer.peak_rank) return rank.kv_cache;
  return kNone;
}

}  // namespace

std::string json(const ServeAnswer& answer) {
  JsonWriter out(JsonWriter::Layout::pretty);
  const auto part = [&out](std::string_view name, const auto& what) {
    out.key(name);
    write(out, what);
  };
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "serve");
  out.member("engine", answer.engine);
  part("model", answer.model);
  part("workload", answer.workload);
  part("mesh", answer.mesh);
  part("device", answer.device);
  out.key("kv_cache");
  write_cache(out, cache_of(answer));
  if (!answer.buffers.empty()) write_buffers(out, answer.buffers);
  out.key("ranks");
  out.begin_array();
  for (const ServeRank& rank : answer.ranks) write_serve_rank(out, rank);
  out.end_array();
  out.member("peak_rank", answer.peak_rank);
  member_or_null(out, "fits", answer.fits);
  write(out, answer.verdict);
  member_or_null(out, "headroom_bytes", answer.headroom_bytes);
  write_loading(out, answer);
  out.key("failure");
  answer.failure.empty() ? out.null() : out.value(answer.failure);
  if (!answer.doubt.empty()) out.member("doubt", answer.doubt);
  part("bounds", answer.bounds.value_or(Bounds{}));
  if (answer.solved) write_solved(out, *answer.solved);
  if (answer.users) write_users(out, *answer.users);
  if (!answer.corrected_command.empty()) out.member("corrected_command", answer.corrected_command);
  part("advice", answer.advice);
  if (!answer.nothing_helps.empty()) out.member("nothing_helps", answer.nothing_helps);
  part("notes", answer.notes);
  part("warnings", answer.warnings);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
