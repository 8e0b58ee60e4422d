// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/layers/linear.h"

#include <algorithm>

#include "framework/vllm/methods/quantization.h"
#include "framework/vllm/offload.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

int ranks_of(const Place& place, Cut cut) { return cut == Cut::replicated ? 1 : place.tp(); }

std::vector<std::int64_t> divided(std::vector<std::int64_t> outs, int ranks) {
  for (std::int64_t& out : outs) {
    if (out % ranks != 0)
      ghost::session().fail({ErrorKind::bad_input,
                             "a dimension of the model is not divisible by the ranks",
                             "--tensor-parallel-size", "a divisor of the heads and widths"});
    out /= ranks;
  }
  return outs;
}

std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

Linear::Linear(const Place& place, std::int64_t in_features, std::vector<std::int64_t> out_features,
               const LinearOptions& options)
    : Module(place.scope()),
      in(divided({in_features}, options.cut == Cut::row ? ranks_of(place, options.cut) : 1)[0]),
      outs(divided(out_features, options.cut == Cut::column ? ranks_of(place, options.cut) : 1)),
      full_in(in_features),
      full_out(sum(out_features)),
      weights(place),
      dtype(options.dtype.value_or(place.runtime().dtype())),
      is_row_parallel(options.cut == Cut::row && place.tp() > 1),
      place_(place),
      options_(options),
      method_(linear_method(place, options.quantized)) {
  method_->create_weights(*this);
  if (options.bias) bias = place.parameter("bias", {out()}, dtype);
  const auto process = [this] {
    const ghost::ScopeGuard guard(node().scope);
    const ProcessedWeights offloaded(runtime(), node());
    method_->process_weights(*this);
  };
  auto& queue =
      method_->processes_while_loading(*this) ? runtime().while_loading : runtime().after_loading;
  queue.push_back(process);
  if (runtime().settings.lora)
    runtime().lora_sites.push_back({.in = in, .outs = outs, .module = place.name()});
}

Tensor Linear::forward(const Tensor& x) {
  const bool adds = !options_.skip_bias_add && bias.defined();
  const bool on_this_rank = options_.cut != Cut::row || runtime().parallel().tp_rank == 0;
  Tensor output = method_->apply(*this, x, adds && on_this_rank ? bias : Tensor());
  const Settings& s = runtime().settings;
  if (s.lora)
    scratch("add_lora_linear", lora_scratch(s, std::ssize(outs), output.numel() / this->out()));
  if (is_row_parallel && options_.reduce_results) return all_reduce(runtime(), output);
  return output;
}

Heads::Heads(const Runtime& runtime, std::int64_t heads, std::int64_t kv_heads, std::int64_t width)
    : total(heads), total_kv(kv_heads), size(width) {
  const int tp = runtime.parallel().attention_tp();
  const bool divides = heads % tp == 0 && (kv_heads >= tp ? kv_heads % tp : tp % kv_heads) == 0;
  if (!divides)
    ghost::session().fail(
        {ErrorKind::bad_input, "the number of attention heads is not divisible by it",
         "--tensor-parallel-size", "a divisor of " + std::to_string(heads) + " heads"});
  query = std::max<std::int64_t>(1, heads / tp);
  kv = std::max<std::int64_t>(1, kv_heads / tp);
}

std::unique_ptr<Linear> qkv_linear(const Place& place, std::int64_t hidden, const Heads& heads,
                                   const LinearOptions& options) {
  const std::int64_t tp = place.tp();
  const std::int64_t kv = heads.kv * heads.size * tp;  // repeated heads count once a rank
  return std::make_unique<Linear>(
      place, hidden, std::vector<std::int64_t>{heads.total * heads.size, kv, kv}, options);
}

}  // namespace memtape::vllm
