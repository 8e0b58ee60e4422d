// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/speculator.h"

#include "framework/vllm/models/eagle.h"
#include "framework/vllm/ops.h"

namespace memtape::vllm {

Result<SpeculatorPlan> plan_speculator(const Config& target, const Settings& settings) {
  const Speculation& s = settings.speculation;
  SpeculatorPlan plan{.config = s.drafter};
  if (s.proposer == Proposer::none || s.proposer == Proposer::ngram) return plan;
  if (s.proposer == Proposer::mtp) {
    const Result<DrafterFactory> factory = drafter_factory(target);
    if (!factory) return tl::unexpected(factory.error());
    plan.make_drafter = *factory;
    return plan;
  }
  Settings own = settings;
  own.online = OnlineScheme::none;
  auto quantization = read_quantization(*s.drafter, own);
  if (!quantization) return tl::unexpected(quantization.error());
  plan.quantization = *std::move(quantization);
  if (s.proposer == Proposer::draft_model) {
    const Result<ModelFactory> factory = model_factory(*s.drafter);
    if (!factory) return tl::unexpected(factory.error());
    plan.make_model = *factory;
    return plan;
  }
  if (plan.quantization)
    return unsupported("an EAGLE head that is quantized is not modelled", s.drafter->where(),
                       "one without quantization_config");
  const Result<DrafterFactory> factory = eagle_factory(*s.drafter, s.proposer == Proposer::eagle3);
  if (!factory) return tl::unexpected(factory.error());
  plan.make_drafter = *factory;
  return plan;
}

Speculator::Speculator(const SpeculatorPlan& plan, const Place& target)
    : settings_(target.settings()) {
  const Place place = plan.config ? Place(target.runtime(), target.scope() / "draft_model", "",
                                          *plan.config, plan.quantization.get())
                                  : target;
  if (plan.make_drafter) drafter_ = plan.make_drafter(place);
  if (plan.make_model) model_ = plan.make_model(place / "draft_model");
}

void Speculator::share_tables(ServedModel& target) {
  if (drafter_) drafter_->share_tables(target);
}

void Speculator::propose(const RunnerState& runner, std::int64_t tokens, std::int64_t requests,
                         const std::vector<Tensor>& inner_states) {
  const Tensor num_sampled = kernel_output("ones", {requests}, DType::int32);
  const Tensor num_rejected = kernel_output("zeros", {requests}, DType::int32);
  const auto step = [&](std::int64_t width) {
    drafter_ ? draft(runner, width, requests) : draft_alone(runner, width, requests);
  };
  Tensor combined;
  if (drafter_) combined = drafter_->combined(inner_states);
  step(tokens);
  // Every later step frees what the one before it took.
  if (settings_.speculation.tokens > 1) step(requests);
}

void Speculator::draft(const RunnerState& runner, std::int64_t tokens, std::int64_t requests) {
  const Tensor positions = kernel_output("index", {requests}, DType::int64);
  const Tensor sources = kernel_output("add", {requests}, DType::int64);
  const Drafter::Drafted drafted = drafter_->forward(runner.input_ids().slice(0, 0, tokens),
                                                     runner.drafter_hidden().slice(0, 0, tokens));
  const Dims sizes{requests, drafted.for_logits.size(1)};
  const Tensor rows = tokens == requests
                          ? drafted.for_logits
                          : kernel_output("index", sizes, drafted.for_logits.dtype());
  {
    const Tensor logits = drafter_->compute_logits(rows);
    kernel_output("argmax", {requests}, DType::int64);
  }
  if (tokens != requests) kernel_output("index", sizes, drafted.feedback.dtype());
}

void Speculator::draft_alone(const RunnerState& runner, std::int64_t tokens,
                             std::int64_t requests) {
  const Tensor hidden = model_->forward(runner.input_ids().slice(0, 0, tokens), {});
  const Tensor rows = tokens == requests
                          ? hidden
                          : kernel_output("index", {requests, hidden.size(1)}, hidden.dtype());
  const Tensor positions = kernel_output("index", {requests}, DType::int64);
  const Tensor logits = model_->compute_logits(rows);
  kernel_output("argmax", {requests}, DType::int64);
}

}  // namespace memtape::vllm
