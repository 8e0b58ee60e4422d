// SPDX-License-Identifier: Apache-2.0
#include "answer/plan_question.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include <fmt/format.h>

#include "answer/cluster.h"
#include "answer/device_options.h"
#include "answer/gpu_prices.h"
#include "answer/train_request.h"
#include "base/comma_list.h"
#include "framework/dialects.h"
#include "framework/train_arguments.h"
#include "option/value.h"
#include "plan/step_clock.h"
#include "predict/program.h"
#include "predict/rank_runs.h"

namespace memtape::answer {
namespace {

using plan::Axis;

Result<std::int64_t> whole_number(std::string_view option, std::string_view text) {
  return option::read_whole(option, text, {.least = 1, .most = std::int64_t{1} << 20});
}

/// The last value of an option, which is taken out.
std::optional<std::string> take(NamedValues& options, std::string_view name) {
  std::optional<std::string> found;
  for (const NamedValue& option : options)
    if (option.first == name) found = option.second;
  std::erase_if(options, [name](const NamedValue& option) { return option.first == name; });
  return found;
}

Result<std::optional<std::int64_t>> take_number(NamedValues& options, const std::string& name) {
  const std::optional<std::string> text = take(options, name);
  if (!text) return std::optional<std::int64_t>();
  const Result<std::int64_t> number = whole_number(name, *text);
  if (!number) return tl::unexpected(number.error());
  return std::optional(*number);
}

/// What is asked beside the options that every plan shares.
struct AskedPlan {
  NamedValues base;  ///< options of train that no plan changes
  plan::Pins pins;
  std::vector<std::int64_t> gpus{1};
  std::vector<std::string> frameworks;  ///< none: all that know the model
  std::optional<std::int64_t> global_batch, sequence;
  std::int64_t per_node = 8;
  bool names_per_node = false;
  std::optional<Cluster> cluster;
};

/// What a cluster says joins the options; what both say must agree.
Result<void> take_cluster(AskedPlan& asked, const Outside& outside) {
  const std::optional<std::string> named = take(asked.base, "cluster");
  if (!named) return {};
  Result<Cluster> cluster = find_cluster(*named, outside);
  if (!cluster) return tl::unexpected(cluster.error());
  if (const std::string* gpu = last_value(asked.base, "gpu"); gpu && *gpu != cluster->gpu)
    return bad_input(fmt::format("--cluster {} has {}", *named, cluster->gpu), "--gpu " + *gpu,
                     "leave one of them out");
  if (!last_value(asked.base, "gpu")) asked.base.emplace_back("gpu", cluster->gpu);
  const std::string* per_node = last_value(asked.base, "gpus-per-node");
  if (per_node && cluster->gpus_per_node && *per_node != fmt::format("{}", *cluster->gpus_per_node))
    return bad_input(fmt::format("--cluster {} has {}", *named, *cluster->gpus_per_node),
                     "--gpus-per-node " + *per_node, "leave one of them out");
  if (!per_node && cluster->gpus_per_node)
    asked.base.emplace_back("gpus-per-node", fmt::format("{}", *cluster->gpus_per_node));
  const std::int64_t each = cluster->gpus_per_node.value_or(8);
  if (!last_value(asked.base, "gpus"))
    asked.base.emplace_back("gpus", fmt::format("{}", cluster->nodes.value_or(1) * each));
  else if (cluster->nodes &&
           *last_value(asked.base, "gpus") != fmt::format("{}", *cluster->nodes * each))
    return bad_input(fmt::format("--cluster {} has {}", *named, *cluster->nodes * each),
                     "--gpus " + *last_value(asked.base, "gpus"), "leave one of them out");
  asked.cluster = std::move(*cluster);
  return {};
}

Result<std::vector<std::int64_t>> gpu_counts(NamedValues& options) {
  const std::optional<std::string> text = take(options, "gpus");
  if (!text) return std::vector<std::int64_t>{1};
  std::vector<std::int64_t> counts;
  for (const std::string& word : split_at_commas(*text)) {
    const Result<std::int64_t> count = whole_number("gpus", word);
    if (!count) return tl::unexpected(count.error());
    counts.push_back(*count);
  }
  if (counts.empty()) return tl::unexpected(whole_number("gpus", *text).error());
  return counts;
}

Result<AskedPlan> asked_plan(const RawOptions& options, const Outside& outside) {
  AskedPlan asked;
  asked.base = options.values;
  for (const char* own : {"objective", "top", "price", "export", "plan", "force"})
    take(asked.base, own);
  if (const auto taken = take_cluster(asked, outside); !taken) return tl::unexpected(taken.error());
  auto counts = gpu_counts(asked.base);
  if (!counts) return tl::unexpected(counts.error());
  asked.gpus = std::move(*counts);
  if (const auto framework = take(asked.base, "framework"); framework && *framework != "any")
    asked.frameworks = split_at_commas(*framework);
  for (const auto& [name, into] : {std::pair{"global-batch-size", &asked.global_batch},
                                   {"sequence-length", &asked.sequence}}) {
    const auto number = take_number(asked.base, name);
    if (!number) return tl::unexpected(number.error());
    *into = *number;
  }
  const auto per_node = take_number(asked.base, "gpus-per-node");
  if (!per_node) return tl::unexpected(per_node.error());
  asked.per_node = per_node->value_or(asked.per_node);
  asked.names_per_node = per_node->has_value();
  for (const NamedValue& option : asked.base)
    if (option.first == "gradient-accumulation" || option.first == "gradient_accumulation_steps")
      return bad_input("follows from the plan's micro-batches", "--" + option.first,
                       "--global-batch-size N: sequences of a step on all GPUs");
  auto pins = plan::take_pins(asked.base);
  if (!pins) return tl::unexpected(pins.error());
  asked.pins = std::move(*pins);
  return asked;
}

/// Sequences of a step where nobody says how many: 16, or one for each GPU, whichever is more.
std::int64_t global_batch(const AskedPlan& asked) {
  constexpr std::int64_t kSome = 16;
  if (asked.global_batch) return *asked.global_batch;
  const std::int64_t most = std::ranges::max(asked.gpus);
  return (std::max(kSome, most) + most - 1) / most * most;
}

class Fields {
 public:
  Fields(const RawOptions& options, const Config& config, const Outside& outside, AskedPlan asked)
      : options_(options), config_(config), outside_(outside), asked_(std::move(asked)) {}

  Result<PlanQuestion> make() {
    std::optional<Error> first;
    for (const std::string& framework : frameworks()) {
      const Result<void> added = add(framework);
      if (added) continue;
      if (!asked_.frameworks.empty()) return tl::unexpected(added.error());
      if (!first) first = added.error();
      question_.notes.push_back(
          fmt::format("{} was left out: {}", framework, added.error().line()));
    }
    if (question_.fields.empty() && first) return tl::unexpected(*first);
    if (!asked_.global_batch)
      question_.notes.push_back(
          fmt::format("a step of {} sequences is taken: --global-batch-size says otherwise",
                      global_batch(asked_)));
    return std::move(question_);
  }

 private:
  std::vector<std::string> frameworks() const {
    if (!asked_.frameworks.empty()) return asked_.frameworks;
    const auto place =
        std::ranges::max(asked_.gpus) == 1 ? &PlannedPlace::on_one_gpu : &PlannedPlace::on_many;
    std::map<int, std::string> in_order;
    for (const Dialect* dialect : dialects())
      if (const int at = dialect->planned.*place; at > 0)
        in_order.emplace(at, dialect->framework.name);
    std::vector<std::string> names;
    for (auto& [at, name] : in_order) names.push_back(std::move(name));
    return names;
  }

  Result<void> add(const std::string& framework) {
    RawOptions raw = options_;
    raw.values = asked_.base;
    std::erase_if(raw.typed, [&](const NamedValue& typed) {
      return std::ranges::find(asked_.base, typed) == asked_.base.end();
    });
    raw.values.emplace_back("framework", framework);
    Result<TrainRequest> request = on_most_gpus(std::move(raw), framework);
    if (!request) return tl::unexpected(request.error());
    question_.device = request->device;
    if (const auto known = know_model(request->recipe); !known) return known;
    if (asked_.frameworks.empty())
      if (const auto runs = runs_at_all(*request); !runs) return runs;
    for (const std::int64_t gpus : asked_.gpus)
      if (const auto added = add(*request, gpus); !added) return added;
    return {};
  }

  /// The request as it would be on the most GPUs, since Trainer's --fsdp is refused on one. How
  /// many there are is each plan's own matter afterwards.
  Result<TrainRequest> on_most_gpus(RawOptions raw, const std::string& framework) const {
    const std::int64_t most = std::ranges::max(asked_.gpus);
    const auto found = find_framework(framework, memtape::frameworks());
    const bool takes_them = found && (*found)->takes.several_gpus && most > 1;
    if (takes_them) raw.values.emplace_back("gpus", fmt::format("{}", most));
    Result<TrainRequest> request = train_request(raw, outside_);
    if (!request || !takes_them) return request;
    request->recipe.layout.gpus = 1;
    std::erase_if(request->values, [](const NamedValue& option) { return option.first == "gpus"; });
    return request;
  }

  Result<void> add(const TrainRequest& request, std::int64_t gpus) {
    plan::Field field;
    field.job = std::make_unique<plan::Job>(plan::Job{.config = config_,
                                                      .facts = *facts_,
                                                      .recipe = request.recipe,
                                                      .pins = asked_.pins,
                                                      .gpus = gpus,
                                                      .per_node = asked_.per_node,
                                                      .host_bytes = host_bytes(),
                                                      .global_batch = global_batch(asked_),
                                                      .sequence = sequence(request.recipe),
                                                      .device_bytes = device_bytes(),
                                                      .device = device_traits(question_.device),
                                                      .said = asked_.base});
    field.space = plan::space_of(*field.job);
    if (!field.space)
      return unsupported(
          "has no space of plans yet", "--framework",
          names_of_dialects([](const Dialect& d) { return d.space != PlanSpace::none; }));
    if (const auto fine = check_pins(*field.space, *field.job); !fine) return fine;
    field.reading = {request.values, request.read};
    const auto like = setup_like(field);
    if (!like) return tl::unexpected(like.error());
    field.clock = std::make_unique<plan::PlanClock>(*field.job, question_.clock, *like);
    question_.fields.push_back(std::move(field));
    return {};
  }

  /// A choice that the framework's plans do not have must be the one that they all are.
  static Result<void> check_pins(const plan::Space& space, const plan::Job& job) {
    using plan::Axis;
    for (const Axis axis : {Axis::tp, Axis::cp, Axis::pp, Axis::vpp, Axis::ep, Axis::etp,
                            Axis::method, Axis::offload, Axis::sharding, Axis::optim}) {
      const std::vector<std::int64_t>* pinned = job.pins.of(axis);
      if (!pinned || std::ranges::find(space.axes(), axis) != space.axes().end()) continue;
      const bool is_choice = axis == Axis::method || axis == Axis::offload ||
                             axis == Axis::sharding || axis == Axis::optim;
      const std::int64_t only = is_choice ? 0 : 1;
      if (std::ranges::find(*pinned, only) != pinned->end()) continue;
      return unsupported(
          fmt::format("plans of --framework {} have no such choice", job.recipe.framework->name),
          fmt::format("--{} {}", plan::option_of(axis), plan::value_text(axis, pinned->front())),
          "leave it out, or another --framework");
    }
    return {};
  }

  /// Whether the framework has such a model: two layers of it on one GPU.
  Result<void> runs_at_all(const TrainRequest& request) const {
    if (!config_.has("num_hidden_layers") || config_.has("layer_types")) return {};
    const auto run = run_program(config_.with_integer("num_hidden_layers", 2), request.recipe,
                                 device_traits(request.device));
    if (!run && run.error().kind == ErrorKind::unsupported) return tl::unexpected(run.error());
    return {};
  }

  std::optional<Bytes> host_bytes() const {
    return asked_.cluster ? asked_.cluster->host_memory : std::nullopt;
  }

  /// The model is built once for all fields, when the first recipe and the device are known.
  Result<void> know_model(const TrainRecipe& recipe) {
    if (facts_) return {};
    if (!question_.device.gpu)
      return bad_input("needs a GPU, which plans are timed on", "plan", "--gpu NAME");
    const auto built = time::built_model(config_, recipe.task, recipe.release);
    if (!question_.clock)
      if (const auto timed = make_clock(built ? &*built : nullptr); !timed) return timed;
    if (!built) return tl::unexpected(built.error());
    facts_ = plan::model_facts(question_.clock->shape(), *built);
    return {};
  }

  Result<void> make_clock(const time::BuiltModel* built) {
    time::MachineOptions options;
    if (asked_.names_per_node) options.gpus_per_node = asked_.per_node;
    if (asked_.cluster) {
      options.domain = asked_.cluster->link_domain;
      options.network_gb_s = asked_.cluster->network_gb_s;
    }
    const auto machine = time::machine_of(*question_.device.gpu, options);
    if (!machine) return tl::unexpected(machine.error());
    auto shape = time::model_shape(config_, built);
    if (!shape) return tl::unexpected(shape.error());
    if (!asked_.names_per_node) asked_.per_node = machine->gpus_per_node;
    question_.clock = std::make_shared<const time::StepClock>(std::move(*shape), *machine);
    return {};
  }

  /// What the framework's recipe says beside sizes.
  Result<time::TrainSetup> setup_like(const plan::Field& field) const {
    plan::Candidate one;
    one.framework = field.job->recipe.framework;
    one.sizes.gpus = one.sizes.dp = field.job->gpus;
    const auto layout = with_changes(field.space->layout(one), field.space->habits());
    const auto recipe = field.reading.read(with_changes(field.reading.values, layout));
    if (!recipe) return tl::unexpected(recipe.error());
    return time::train_setup(*recipe, dialect_of(*recipe).time);
  }

  std::int64_t sequence(const TrainRecipe& recipe) const {
    if (asked_.sequence) return *asked_.sequence;
    const std::int64_t positions =
        config_.integer({"max_position_embeddings", "n_positions"}, recipe.sequence_length);
    return std::min(recipe.sequence_length, positions);
  }

  Bytes device_bytes() const {
    constexpr Bytes kUnlimited = Bytes{1} << 60;
    const DeviceSetup& device = question_.device;
    const std::optional<Bytes> total = device.total_bytes();
    return total ? *total - device.context_bytes() : kUnlimited;
  }

  const RawOptions& options_;
  const Config& config_;
  const Outside& outside_;
  AskedPlan asked_;
  std::optional<plan::ModelFacts> facts_;
  PlanQuestion question_;
};

Result<plan::SearchOptions> search_options(const RawOptions& options, const Outside& outside) {
  plan::SearchOptions search;
  search.workers = outside.workers();
  search.explains = options.output.explain;
  if (const std::string* objective = last_value(options.values, "objective")) {
    const auto named = plan::objective_named(*objective);
    if (!named) return tl::unexpected(named.error());
    search.objective = *named;
  }
  if (const std::string* top = last_value(options.values, "top")) {
    const auto number = whole_number("top", *top);
    if (!number) return tl::unexpected(number.error());
    search.top = static_cast<std::size_t>(*number);
  }
  return search;
}

}  // namespace

Result<PlanQuestion> plan_question(const RawOptions& options, const Config& config,
                                   const Outside& outside) {
  Result<AskedPlan> asked = asked_plan(options, outside);
  if (!asked) return tl::unexpected(asked.error());
  Result<plan::SearchOptions> search = search_options(options, outside);
  if (!search) return tl::unexpected(search.error());
  const std::string* typed = last_value(options.values, "price");
  const Result<GpuPrices> prices = GpuPrices::read(typed ? *typed : "");
  if (!prices) return tl::unexpected(prices.error());
  if (asked->cluster) search->price_per_hour = asked->cluster->price;
  Result<PlanQuestion> question = Fields(options, config, outside, std::move(*asked)).make();
  if (!question) return question;
  if (const auto price = prices->of(*question->device.gpu)) search->price_per_hour = price;
  question->search = std::move(*search);
  return question;
}

}  // namespace memtape::answer
