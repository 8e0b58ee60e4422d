// SPDX-License-Identifier: Apache-2.0
#include "predict/kv_arithmetic.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/dtype.h"
#include "base/text.h"

namespace memtape {
namespace {

/// The query heads of a layer, and the values of one head's key and value together.
struct Heads {
  std::int64_t query = 0, key_value = 0, values_of_pair = 0;
  bool latent = false;
};

Heads heads_of(const Config& config) {
  Heads heads;
  heads.query = config.optional_integer({"num_attention_heads", "n_head"}).value_or(0);
  if (heads.query <= 0) return heads;
  heads.key_value = config.optional_integer("num_key_value_heads").value_or(heads.query);
  if (config.boolean("multi_query", false)) heads.key_value = 1;
  heads.latent = config.optional_integer("kv_lora_rank").has_value();
  const auto whole = [&](const char* key) { return config.optional_integer(key).value_or(0); };
  if (heads.latent)
    heads.values_of_pair =
        whole("qk_nope_head_dim") + whole("qk_rope_head_dim") + whole("v_head_dim");
  else
    heads.values_of_pair =
        2 *
        config.optional_integer("head_dim")
            .value_or(config.optional_integer({"hidden_size", "n_embd"}).value_or(0) / heads.query);
  return heads;
}

std::string attention_name(const Heads& heads, const KvGroup& group) {
  if (group.kind == "mla" || heads.latent) return "MLA";
  const std::string shared = heads.key_value == heads.query ? "MHA"
                             : heads.key_value == 1         ? "MQA"
                                                            : "GQA";
  return group.kind == "sliding_window" ? shared + " with a window" : shared;
}

/// Bytes of one value, in the type that the group is held in.
double value_bytes(const KvGroup& group) {
  const std::optional<DType> type = dtype_from_name(group.key_type);
  return type ? static_cast<double>(bytes_of(*type, 1)) : 2.0;
}

int ranks_of_stage(const ServeAnswer& answer) {
  for (const Setting& setting : answer.mesh)
    if (setting.name.starts_with("tensor_parallel") || setting.name == "tp_size")
      return std::max(1, std::atoi(setting.json_value.c_str()));
  return 1;
}

std::string line_of(const KvGroup& group, const Heads& heads, int ranks) {
  if (group.bytes_per_token == 0)
    return fmt::format("{}, {} layers: a state of fixed size for each request, whatever its length",
                       group.kind, group.layers);
  const double mha = static_cast<double>(group.layers * heads.query * heads.values_of_pair) *
                     value_bytes(group) / ranks;
  return fmt::format(
      "{}, {} layers: {} B a token; with keys and values for all {} heads {} B, "
      "{:.2f} times as much",
      attention_name(heads, group), group.layers, with_commas(group.bytes_per_token), heads.query,
      with_commas(static_cast<std::int64_t>(mha)),
      mha / static_cast<double>(group.bytes_per_token));
}

}  // namespace

std::vector<std::string> kv_arithmetic(const ServeAnswer& answer, const Config& config) {
  std::vector<std::string> lines;
  const Heads heads = heads_of(config);
  if (answer.ranks.empty() || heads.values_of_pair <= 0) return lines;
  const KvCache& cache = answer.ranks.front().kv_cache;
  for (const KvGroup& group : cache.layers)
    lines.push_back(line_of(group, heads, ranks_of_stage(answer)));
  if (cache.bytes_per_token && answer.users)
    lines.push_back(fmt::format(
        "{} B x {} tokens = {} B a user", with_commas(*cache.bytes_per_token),
        with_commas(answer.users->context + answer.users->output),
        with_commas(*cache.bytes_per_token * (answer.users->context + answer.users->output))));
  return lines;
}

}  // namespace memtape
