// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/weights.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace memtape::llamacpp {
namespace {

Place place_of(std::int64_t il, std::string_view local) {
  if (il >= 0) return Place::repeating;
  constexpr std::array<std::string_view, 4> kInputs{"token_embd.weight", "position_embd.weight",
                                                    "token_types.weight",
                                                    "per_layer_token_embd.weight"};
  return std::ranges::find(kInputs, local) != kInputs.end() ? Place::input : Place::output;
}

/// The layer, -1 without one, and the rest of the name (the inverse of stored_name).
std::pair<std::int64_t, std::string> split_name(std::string_view name) {
  constexpr std::string_view kBlock = "blk.";
  const std::size_t block = name.find(kBlock);
  if (block != 0 && block != 4) return {-1, std::string(name)};
  const std::string_view rest = name.substr(block + kBlock.size());
  std::int64_t il = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), il);
  if (error != std::errc() || end == rest.data() + rest.size()) return {-1, std::string(name)};
  const auto digits = static_cast<std::size_t>(end - rest.data());
  return {il, std::string(name.substr(0, block)) + std::string(rest.substr(digits + 1))};
}

bool names_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

std::string stored_name(std::int64_t il, std::string_view local) {
  if (il < 0) return std::string(local);
  for (const std::string_view half : {"enc.", "dec."})
    if (local.starts_with(half))
      return fmt::format("{}blk.{}.{}", half, il, local.substr(half.size()));
  return fmt::format("blk.{}.{}", il, local);
}

Bytes Weight::bytes() const { return ggml::row_size(type, ne[0]) * ne[1] * ne[2] * ne[3]; }

ggml::Op op_of(const Weight& weight) {
  const std::string_view local = weight.local;
  const bool experts = names_part(local, "_exps.");
  if (names_part(local, "token_embd.") || names_part(local, "position_embd") ||
      names_part(local, "token_types"))
    return ggml::Op::get_rows;
  if (local.ends_with("bias")) return experts ? ggml::Op::add_id : ggml::Op::add;
  if (names_part(local, "norm") || local == "ssm_d") return ggml::Op::mul;
  if (experts) return ggml::Op::mul_mat_id;
  if (names_part(local, "rope_f")) return ggml::Op::rope;
  if (names_part(local, "attn_sinks")) return ggml::Op::scale;
  if (names_part(local, "ssm_conv1d_")) return ggml::Op::mul;
  if (names_part(local, "ssm_conv1d") || names_part(local, "shortconv.conv"))
    return ggml::Op::ssm_conv;
  if (local == "ssm_a") return weight.ne[1] > 1 ? ggml::Op::ssm_scan : ggml::Op::mul;
  return ggml::Op::mul_mat;
}

Weight WeightList::made(std::int64_t il, std::string_view local,
                        std::initializer_list<std::int64_t> ne) const {
  Weight weight;
  weight.local = local;
  weight.name = stored_name(il, local);
  weight.layer = il;
  weight.place = place_of(il, local);
  weight.skipped = skips_;
  std::ranges::copy(ne, weight.ne.begin());
  return weight;
}

void WeightList::keep(Weight weight) {
  if (stored_) {
    const auto at = stored_->find(weight.name);
    if (at == stored_->end()) {
      if (problem_.empty()) problem_ = fmt::format("tensor {} is missing", weight.name);
    } else if (at->second.ne != weight.ne && problem_.empty()) {
      problem_ = fmt::format("tensor {} is [{}], its metadata says [{}]", weight.name,
                             fmt::join(at->second.ne, ", "), fmt::join(weight.ne, ", "));
    } else {
      weight.type = at->second.type;
    }
  }
  weights_.push_back(std::move(weight));
}

void WeightList::add(std::int64_t il, std::string_view local,
                     std::initializer_list<std::int64_t> ne) {
  keep(made(il, local, ne));
}

bool WeightList::is_stored(std::int64_t il, std::string_view local) const {
  return stored_ && stored_->contains(made(il, local, {}).name);
}

bool WeightList::maybe(std::int64_t il, std::string_view local,
                       std::initializer_list<std::int64_t> ne, bool usual) {
  const bool there = stored_ ? is_stored(il, local) : usual;
  if (there) add(il, local, ne);
  return there;
}

void WeightList::token_embeddings(const Hyperparameters& hp) {
  add(-1, "token_embd.weight", {hp.n_embd, hp.n_vocab});
}

void WeightList::output(const Hyperparameters& hp, bool always_tied) {
  add(-1, "output_norm.weight", {hp.n_embd});
  output_matrix(hp, always_tied);
}

void WeightList::of_first_layer(std::string_view local, std::initializer_list<std::int64_t> ne) {
  Weight weight = made(-1, local, ne);
  weight.layer = 0;
  weight.place = Place::repeating;
  keep(std::move(weight));
}

void WeightList::output_matrix(const Hyperparameters& hp, bool always_tied) {
  const bool own = choices_.tied ? !*choices_.tied : !hp.usually_tied;
  if (!always_tied && maybe(-1, "output.weight", {hp.n_embd, hp.n_vocab}, own)) return;
  Weight again = made(-1, "token_embd.weight", {hp.n_embd, hp.n_vocab});
  again.place = Place::output;
  again.duplicate = true;
  again.separate = std::ranges::find(weights_, again.name, &Weight::name) == weights_.end();
  keep(std::move(again));
}

void WeightList::shared(std::int64_t il, std::string_view local, std::int64_t n, bool first) {
  Weight weight = made(-1, local, {n});
  weight.layer = il;
  weight.place = Place::repeating;
  weight.duplicate = !first;
  keep(std::move(weight));
}

void WeightList::rope_factors(const Hyperparameters& hp, std::int64_t il) {
  const auto factors = [&](std::string_view name, bool usual) {
    if (stored_ ? is_stored(-1, name) : usual) shared(il, name, hp.n_rot / 2, il == 0);
  };
  factors("rope_factors_long.weight", hp.longrope);
  factors("rope_factors_short.weight", hp.longrope);
  if (!hp.longrope) factors("rope_freqs.weight", choices_.rope_factors);
}

void WeightList::qkv(std::int64_t il, std::int64_t in, std::initializer_list<std::int64_t> q_k_v,
                     bool biased, bool fused) {
  const std::array<std::int64_t, 3> out{*q_k_v.begin(), *(q_k_v.begin() + 1), *(q_k_v.begin() + 2)};
  const std::int64_t all = out[0] + out[1] + out[2];
  if (maybe(il, "attn_qkv.weight", {in, all}, fused)) {
    maybe(il, "attn_qkv.bias", {all}, biased);
    return;
  }
  constexpr std::array<std::string_view, 3> kNames{"attn_q", "attn_k", "attn_v"};
  for (std::size_t i = 0; i < 3; ++i) add(il, fmt::format("{}.weight", kNames[i]), {in, out[i]});
  for (std::size_t i = 0; i < 3; ++i)
    maybe(il, fmt::format("{}.bias", kNames[i]), {out[i]}, biased);
}

void WeightList::gated_ffn(std::int64_t il, std::int64_t n_embd, std::int64_t n_ff,
                           std::string_view suffix) {
  add(il, fmt::format("ffn_gate{}.weight", suffix), {n_embd, n_ff});
  add(il, fmt::format("ffn_down{}.weight", suffix), {n_ff, n_embd});
  add(il, fmt::format("ffn_up{}.weight", suffix), {n_embd, n_ff});
}

void WeightList::experts(std::int64_t il, const Hyperparameters& hp, std::int64_t n_ff) {
  add(il, "ffn_gate_inp.weight", {hp.n_embd, hp.n_expert});
  add(il, "ffn_down_exps.weight", {n_ff, hp.n_embd, hp.n_expert});
  if (maybe(il, "ffn_gate_up_exps.weight", {hp.n_embd, 2 * n_ff, hp.n_expert}, false)) return;
  add(il, "ffn_gate_exps.weight", {hp.n_embd, n_ff, hp.n_expert});
  add(il, "ffn_up_exps.weight", {hp.n_embd, n_ff, hp.n_expert});
}

void WeightList::draft_block(const Hyperparameters& hp, std::int64_t il, bool own_head) {
  add(il, "nextn.eh_proj.weight", {2 * hp.n_embd, hp.n_embd});
  add(il, "nextn.enorm.weight", {hp.n_embd});
  add(il, "nextn.hnorm.weight", {hp.n_embd});
  maybe(il, "nextn.embed_tokens.weight", {hp.n_embd, hp.n_vocab}, own_head);
  maybe(il, "nextn.shared_head_head.weight", {hp.n_embd, hp.n_vocab}, own_head);
  maybe(il, "nextn.shared_head_norm.weight", {hp.n_embd}, true);
}

void WeightList::layers_and_drafts(const Hyperparameters& hp,
                                   void (*list_layer)(const Hyperparameters&, std::int64_t,
                                                      WeightList&),
                                   bool own_head) {
  token_embeddings(hp);
  output(hp);
  for (std::int64_t il = 0; il < hp.n_layer(); ++il) list_layer(hp, il, *this);
  skip_from_here();
  for (std::int64_t il = hp.n_layer(); il < hp.n_layer_all; ++il) {
    list_layer(hp, il, *this);
    draft_block(hp, il, own_head);
  }
}

std::set<std::string> WeightList::keep_unlisted(const Hyperparameters& hp) {
  std::set<std::string> unlisted;
  if (!stored_) return unlisted;
  std::set<std::string_view> listed;
  for (const Weight& weight : weights_) listed.insert(weight.name);
  std::vector<std::string> rest;
  for (const auto& [name, stored] : *stored_)
    if (!listed.contains(name)) rest.push_back(name);
  for (const std::string& name : rest) {
    const auto [il, local] = split_name(name);
    Weight weight = made(il, local, {});
    weight.skipped = il >= hp.n_layer();
    weight.ne = stored_->find(name)->second.ne;
    keep(std::move(weight));
    unlisted.insert(local);
  }
  return unlisted;
}

std::int64_t WeightList::stored_count() const {
  return std::ranges::count_if(weights_, [](const Weight& w) { return !w.duplicate; });
}

}  // namespace memtape::llamacpp
