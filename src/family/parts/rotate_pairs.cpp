// SPDX-License-Identifier: Apache-2.0
#include "family/parts/rotate_pairs.h"

#include "ghost/ops/copies.h"
#include "ghost/ops/joins.h"
#include "ghost/session.h"
#include "release/multimodal_changes.h"

namespace memtape::family {

CosSin repeated_in_pairs(const CosSin& cos_sin) {
  const std::int64_t half = cos_sin.first.size(-1) / 2;
  const auto of_pairs = [half](const Tensor& x) {
    return ghost::repeat_interleave(x.unsqueeze(1).slice(-1, 0, half), 2, -1);
  };
  Tensor cos = of_pairs(cos_sin.first);
  return {std::move(cos), of_pairs(cos_sin.second)};
}

std::pair<Tensor, Tensor> rotate_pairs(const Tensor& q, const Tensor& k, const CosSin& cos_sin) {
  const auto [cos, sin] = repeated_in_pairs(cos_sin);
  Tensor q_embed = q.mul(cos).add(rotate_every_two(q).mul(sin));
  Tensor k_embed = k.mul(cos).add(rotate_every_two(k).mul(sin));
  return {std::move(q_embed), std::move(k_embed)};
}

std::pair<Tensor, Tensor> rotate_pairs_in_float(const Tensor& q, const Tensor& k,
                                                const CosSin& cos_sin) {
  const auto [cos, sin] = repeated_in_pairs(cos_sin);
  const Tensor q_embed = q.to_float().mul(cos).add(rotate_every_two(q).to_float().mul(sin));
  const Tensor k_embed = k.to_float().mul(cos).add(rotate_every_two(k).to_float().mul(sin));
  Tensor q_cast = q_embed.to(q.dtype());
  return {std::move(q_cast), k_embed.to(q.dtype())};
}

namespace {

std::pair<Tensor, Tensor> rotate_part_of_pairs(const Tensor& q, const Tensor& k, const Tensor& cos,
                                               const Tensor& sin) {
  const std::int64_t rotary_dim = cos.size(-1);
  const Tensor q_rot = q.slice(-1, 0, rotary_dim), q_pass = q.slice(-1, rotary_dim, q.size(-1));
  const Tensor k_rot = k.slice(-1, 0, rotary_dim), k_pass = k.slice(-1, rotary_dim, k.size(-1));
  Tensor q_embed = q_rot.mul(cos).add(rotate_every_two(q_rot).mul(sin));
  Tensor k_embed = k_rot.mul(cos).add(rotate_every_two(k_rot).mul(sin));
  q_embed = ghost::cat({q_embed, q_pass}, -1);
  k_embed = ghost::cat({k_embed, k_pass}, -1);
  return {std::move(q_embed), std::move(k_embed)};
}

}  // namespace

std::pair<Tensor, Tensor> rotate_pairs_of_part(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin) {
  const auto [cos, sin] = repeated_in_pairs(cos_sin);
  return rotate_part_of_pairs(q, k, cos, sin);
}

std::pair<Tensor, Tensor> rotate_given_pairs_of_part(const Tensor& q, const Tensor& k,
                                                     const CosSin& cos_sin) {
  if (!ghost::has(changes::kRopesRecomposeFrequencies)) return rotate_pairs_of_part(q, k, cos_sin);
  return rotate_part_of_pairs(q, k, cos_sin.first.unsqueeze(1), cos_sin.second.unsqueeze(1));
}

}  // namespace memtape::family
