// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/attention_choice.h"

#include <algorithm>

#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

struct Request {
  const Tensor& query;
  const Tensor& key;
  const Tensor& value;
  const Tensor& mask;
  const AttentionOptions& options;

  bool any_requires_grad() const {
    return session().grad_enabled &&
           (query.requires_grad() || key.requires_grad() || value.requires_grad());
  }
};

bool runs_in_half(DType dtype) { return dtype == DType::float16 || dtype == DType::bfloat16; }

bool within(const DeviceTraits& device, int low, int high) {
  const int capability = device.major * 10 + device.minor;
  return low <= capability && capability <= high;
}

/// check_batch_size_and_num_heads_dense.
bool heads_fit(const Request& r, bool always_took_groups) {
  const std::int64_t q = r.query.size(-3), k = r.key.size(-3), v = r.value.size(-3);
  const bool same_batch = r.query.size(0) == r.key.size(0) && r.query.size(0) == r.value.size(0);
  if (!same_batch) return false;
  const bool takes_groups = has(changes::kEfficientTakesGroups);
  if (takes_groups && k == 1 && v == 1) return q > 0;
  if (r.options.enable_gqa && (takes_groups || always_took_groups))
    return k == v && k > 0 && q % k == 0;
  return q == k && q == v;
}

/// check_nonzero_sequence_lengths_dense and check_last_dim_stride_equals_1_dense.
bool layout_fits(const Request& r, bool ignores_single_column) {
  if (r.query.size(-2) == 0 || r.key.size(-2) == 0) return false;
  const bool packed_rows =
      r.query.strides().back() == 1 && r.key.strides().back() == 1 && r.value.strides().back() == 1;
  const bool mask_fits = !r.mask.defined() || r.mask.strides().back() == 1;
  return (packed_rows || (ignores_single_column && r.query.size(-1) == 1)) && mask_fits;
}

bool four_dimensional(const Request& r) {
  return r.query.dim() == 4 && r.key.dim() == 4 && r.value.dim() == 4;
}

/// check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120.
bool backward_fits(const Request& r, const DeviceTraits& device) {
  if (!r.any_requires_grad() || !(within(device, 86, 89) || within(device, 120, 121))) return true;
  const std::int64_t head = r.query.size(-1);
  return !(head > 192 && head <= 224) && !(head > 224 && r.options.dropout > 0.0);
}

bool can_use_flash(const Request& r, const DeviceTraits& device) {
  const std::int64_t head = r.query.size(-1);
  const bool same_head = head == r.key.size(-1) && head == r.value.size(-1);
  const bool square = !r.options.is_causal || r.query.size(-2) == r.key.size(-2);
  return four_dimensional(r) && !r.mask.defined() && same_head && head <= 256 &&
         within(device, 80, 121) && backward_fits(r, device) && square &&
         runs_in_half(r.query.dtype()) && heads_fit(r, true) && layout_fits(r, true);
}

/// minimum_gemm_alignment: elements that a tensor core's 16 bytes hold; elsewhere 4 from sm80 on, 1
/// before.
std::int64_t gemm_alignment(DType dtype, const DeviceTraits& device) {
  const bool tensor_cores = device.major >= 8 || (device.major == 7 && runs_in_half(dtype));
  const std::int64_t least = device.major >= 8 ? 4 : 1;
  return tensor_cores ? std::max<std::int64_t>(least, runs_in_half(dtype) ? 8 : 4) : least;
}

bool can_use_efficient(const Request& r, const DeviceTraits& device) {
  const DType dtype = r.query.dtype();
  const std::int64_t alignment = gemm_alignment(dtype, device), head = r.query.size(-1),
                     value_head = r.value.size(-1);
  const bool heads_aligned = head == r.key.size(-1) && head > 0 && head % alignment == 0 &&
                             value_head > 0 && value_head % alignment == 0;
  const bool dtype_fits = dtype == DType::float16 || dtype == DType::float32 ||
                          (dtype == DType::bfloat16 && device.major >= 8);
  return four_dimensional(r) && within(device, 50, 121) && heads_aligned && layout_fits(r, false) &&
         heads_fit(r, false) && dtype_fits;
}

}  // namespace

AttentionBackend choose_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const Tensor& mask, const AttentionOptions& options) {
  const Request request{query, key, value, mask, options};
  const DeviceTraits& device = session().device;
  if (can_use_flash(request, device)) return AttentionBackend::flash;
  return can_use_efficient(request, device) ? AttentionBackend::efficient : AttentionBackend::math;
}

bool prefers_cudnn_attention(const DeviceTraits& device) {
  return (device.major == 9 || device.major == 10) && device.minor == 0;
}

}  // namespace memtape::ghost
