// SPDX-License-Identifier: Apache-2.0
#include "family/caches/cache_layers.h"

#include <algorithm>

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/session.h"
#include "release/cache_changes.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

/// torch.cat([held, states], dim=-2); at first there is an empty tensor of that dtype, or, in
/// releases before, nothing that the states would be joined to.
Tensor joined(const Tensor& held, const Tensor& states, DType dtype) {
  if (!held.defined() && !ghost::has(changes::kCacheJoinsFromTheStart)) return states;
  return ghost::cat({held.defined() ? held : ghost::zeros({0}, dtype), states}, -2);
}

Tensor joined_values(const Tensor& held, const Tensor& value_states, DType of_keys) {
  const bool keeps = ghost::has(changes::kCachedValuesKeepTheirType);
  return joined(held, value_states, keeps ? value_states.dtype() : of_keys);
}

/// A number that moves from the host to the device.
Tensor number_on_device() {
  const ghost::Op op("_to_copy", {});
  return ghost::empty({}, DType::int64);
}

void bill_to_cache(const Tensor& states) {
  ghost::session().set_category(states, Category::kv_cache);
}

Tensor tail(const Tensor& states, std::int64_t tokens) {
  const std::int64_t length = states.size(-2);
  return states.slice(-2, std::max<std::int64_t>(0, length - tokens), length);
}

}  // namespace

void CacheLayer::reorder(const Tensor& beam_idx) {
  if (seen == 0 || !keys_.defined()) return;  // in host memory
  keys_ = ghost::index_select(keys_, beam_idx);
  bill_to_cache(keys_);
  values_ = ghost::index_select(values_, beam_idx);
  bill_to_cache(values_);
}

void CacheLayer::crop(std::int64_t tokens) {
  if (tokens == 0 || !keys_.defined()) return;
  seen -= tokens;
  keys_ = keys_.slice(-2, 0, keys_.size(-2) - tokens);
  values_ = values_.slice(-2, 0, values_.size(-2) - tokens);
}

void CacheLayer::offload() {
  offloaded_ = {keys_.sizes(), values_.sizes(), keys_.dtype()};
  keys_.reset();
  values_.reset();
}

void CacheLayer::prefetch() {
  if (!offloaded_ || keys_.defined()) return;
  const ghost::Op op("_to_copy", {});
  keys_ = ghost::empty(offloaded_->keys, offloaded_->dtype, Category::kv_cache);
  values_ = ghost::empty(offloaded_->values, offloaded_->dtype, Category::kv_cache);
}

void DynamicLayer::update(Tensor& key_states, Tensor& value_states) {
  const DType dtype = key_states.dtype();
  seen += key_states.size(-2);
  keys_ = joined(keys_, key_states, dtype);
  values_ = joined_values(values_, value_states, dtype);
  bill_to_cache(keys_);
  bill_to_cache(values_);
  key_states = keys_;
  value_states = values_;
}

void DynamicSlidingWindowLayer::update(Tensor& key_states, Tensor& value_states) {
  const DType dtype = key_states.dtype();
  if (!window_on_device_.defined()) window_on_device_ = number_on_device();
  // get_mask_sizes counts on the window having been cut.
  if (records_past_ && seen >= window_ && keys_.size(-2) >= window_)
    ghost::session().fail(
        {ErrorKind::unsupported,
         "transformers fails: of an assistant's full window, keys outnumber the mask's from its "
         "second token of a round on",
         "--assistant_model",
         "a prompt and an answer within its window, or --num_assistant_tokens 1"});
  seen += key_states.size(-2);
  const Tensor full_key_states = joined(keys_, key_states, dtype);
  const Tensor full_value_states = joined_values(values_, value_states, dtype);
  bill_to_cache(full_key_states);
  bill_to_cache(full_value_states);
  keys_ = records_past_ ? full_key_states : tail(full_key_states, window_ - 1);
  values_ = records_past_ ? full_value_states : tail(full_value_states, window_ - 1);
  key_states = full_key_states;
  value_states = full_value_states;
}

void DynamicSlidingWindowLayer::crop(std::int64_t tokens) {
  const bool is_full = seen >= window_;
  CacheLayer::crop(tokens);
  if (!is_full) return;
  keys_ = tail(keys_, window_ - 1);
  values_ = tail(values_, window_ - 1);
}

void QuantizedLayer::quantize(const Tensor& keys, const Tensor& values) {
  {
    const Tensor packed = keys.contiguous();
    quantized_keys_.quantize(packed, settings_.axis_key, settings_);
  }
  const Tensor packed = values.contiguous();
  quantized_values_.quantize(packed, settings_.axis_value, settings_);
}

void QuantizedLayer::update(Tensor& key_states, Tensor& value_states) {
  const bool is_first = seen == 0;
  seen += key_states.size(-2);
  if (is_first) return quantize(key_states, value_states);

  const auto with_residual = [](const Tensor& before, const Tensor& held, const Tensor& states) {
    return held.defined() ? ghost::cat({before, held, states}, -2)
                          : ghost::cat({before, states}, -2);
  };
  const Tensor dequant_keys = quantized_keys_.dequantize();
  const Tensor dequant_values = quantized_values_.dequantize();
  Tensor keys_to_return = with_residual(dequant_keys, keys_, key_states);
  Tensor values_to_return = with_residual(dequant_values, values_, value_states);
  if (keys_.defined() && keys_.size(-2) + 1 >= settings_.residual_length) {
    quantize(keys_to_return, values_to_return);
    keys_.reset();
    values_.reset();
  } else {
    const DType dtype = key_states.dtype();
    keys_ = joined(keys_, key_states, dtype);
    values_ = joined(values_, value_states, dtype);
    bill_to_cache(keys_);
    bill_to_cache(values_);
  }
  key_states = std::move(keys_to_return);
  value_states = std::move(values_to_return);
}

MaskSizes DynamicSlidingWindowLayer::mask_sizes(std::int64_t queries) const {
  const std::int64_t held = seen >= window_ ? window_ - 1 : seen;
  return {held + queries, std::max<std::int64_t>(seen - window_ + 1, 0)};
}

void StaticLayer::initialize(const Tensor& key_states, const Tensor& value_states) {
  if (cumulative_length_.defined()) return;
  const auto held = [this](const Tensor& states, DType dtype) {
    return ghost::zeros({states.size(0), states.size(1), length_, states.size(-1)}, dtype,
                        Category::kv_cache);
  };
  keys_ = held(key_states, key_states.dtype());
  values_ = held(value_states, key_states.dtype());
  cumulative_length_ = number_on_device();
}

void StaticLayer::write_in_place(std::int64_t tokens) {
  const Tensor cache_position = ghost::arange(tokens, DType::int64).add(0);
}

void StaticLayer::update(Tensor& key_states, Tensor& value_states) {
  initialize(key_states, value_states);
  write_in_place(key_states.size(-2));
  seen += key_states.size(-2);
  key_states = keys_;
  value_states = values_;
}

/// Whether there is anything to reorder is asked of the device.
void StaticLayer::reorder(const Tensor& beam_idx) {
  {
    const Tensor holds_tokens = ghost::gt(cumulative_length_, 0);
  }
  CacheLayer::reorder(beam_idx);
}

/// A full window moves on by one: rolled copies, written into and copied back.
void StaticSlidingWindowLayer::roll_in() const {
  const ghost::Op op("roll", {});
  const Tensor new_keys = ghost::empty_like(keys_, keys_.dtype());
  const Tensor new_values = ghost::empty_like(values_, values_.dtype());
  const Tensor index = ghost::empty({1}, DType::int64);
}

void StaticSlidingWindowLayer::update(Tensor& key_states, Tensor& value_states) {
  initialize(key_states, value_states);
  const std::int64_t tokens = key_states.size(-2), before = seen;
  seen += tokens;
  if (before >= length_ && tokens == 1) {
    roll_in();
  } else if (before + tokens <= length_) {
    write_in_place(tokens);
  } else {
    // What is attended to reaches beyond the window; its tail is copied into the cache.
    if (before > 0) {
      const std::int64_t kept = before >= length_ ? length_ - 1 : before;
      key_states = ghost::cat({tail(keys_, kept), key_states}, -2);
      value_states = ghost::cat({tail(values_, kept), value_states}, -2);
    }
    return;
  }
  key_states = keys_;
  value_states = values_;
}

MaskSizes StaticSlidingWindowLayer::mask_sizes(std::int64_t queries) const {
  const std::int64_t offset = std::max<std::int64_t>(seen - length_ + 1, 0);
  if (seen >= length_) return {length_ + queries - 1, offset};
  if (seen + queries > length_) return {seen + queries, offset};
  return {length_, offset};
}

}  // namespace memtape::family
