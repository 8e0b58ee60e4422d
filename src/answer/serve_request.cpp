// SPDX-License-Identifier: Apache-2.0
#include "answer/serve_request.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "answer/device_options.h"
#include "answer/server_flags.h"
#include "mesh/unified_memory.h"
#include "predict/serve.h"
#include "predict/serve_question.h"
#include "release/requirement_list.h"

namespace memtape::answer {

namespace {

/// Apple's GPUs have what Metal lets them have of the machine's memory.
Result<void> take_unified_memory(ServeRequest& request) {
  std::optional<Gpu>& gpu = request.device.gpu;
  if (!gpu || gpu->vendor != "Apple" || request.device.total_override) return {};
  if (!request.options.has("host-memory-bytes"))
    return bad_input(
        fmt::format("how much memory the machine with an {} has is not said", gpu->name), "--gpu",
        "--host-memory-bytes N, or --gpu-memory-bytes with what llama.cpp prints as "
        "recommendedMaxWorkingSetSize");
  const auto unified = request.options.integer("host-memory-bytes", 0, {1, std::int64_t{1} << 60});
  if (!unified) return tl::unexpected(unified.error());
  gpu->total_bytes = working_set(*unified);
  gpu->total_certainty = Certainty::estimated;
  gpu->total_source = fmt::format("recommendedMaxWorkingSetSize, {} of --host-memory-bytes",
                                  *unified <= 32_GiB ? "2/3" : "3/4");
  return {};
}

/// --with: the engine's own release is its version, the others' are those of what it runs on.
Result<void> take_releases(const ServeCommand& command, ServeRequest& request) {
  const std::string* with = last_value(command.values, "with");
  if (!with || *with == "none") return {};
  const Result<NamedReleases> named = parse_requirement_list(*with, "--with");
  if (!named) return tl::unexpected(named.error());
  request.release = named->release;
  const std::optional<Package> engine = find_package(command.engine);
  if (!engine || std::ranges::find(named->named, *engine) == named->named.end()) return {};
  const Version version = named->release.of(*engine);
  const std::string* said = request.options.find("engine-version");
  if (!said) request.options.add("engine-version", version.text());
  if (said && Version::parse(*said) != version)
    return bad_input(
        fmt::format("{} and {} are two versions of {}", *said, version.text(), command.engine),
        "--engine-version, --with", "leave out one of them");
  return {};
}

}  // namespace

ServeRequest served(const ModelSource& source) {
  ServeRequest request;
  request.id = source.id;
  request.config = source.config ? &*source.config : nullptr;
  request.header = source.header ? &*source.header : nullptr;
  return request;
}

Result<AskedServer> asked_server(const ServeCommand& command, ServeRequest request,
                                 const Outside& outside) {
  const Result<const ServeEngine*> engine = find_serve_engine(command.engine);
  if (!engine) return tl::unexpected(engine.error());
  for (const auto& [name, value] : command.values)
    if (name != "with") request.options.add(name, value);
  if (const auto taken = take_releases(command, request); !taken)
    return tl::unexpected(taken.error());
  if (const auto has = check_flag_releases(command, request); !has)
    return tl::unexpected(has.error());
  Result<DeviceSetup> device = device_of(command.values, command.environment, outside);
  if (!device) return tl::unexpected(device.error());
  request.device = *std::move(device);
  if ((*engine)->takes_unified_memory)
    if (const auto known = take_unified_memory(request); !known)
      return tl::unexpected(known.error());
  const Result<std::int64_t> gpus = request.options.integer("gpus", 1, {1, 1 << 16});
  if (!gpus) return tl::unexpected(gpus.error());
  request.device.gpus = static_cast<int>(*gpus);
  return AskedServer{**engine, std::move(request)};
}

Result<ServeAnswer> answer_serve(const ServeCommand& command, ServeRequest request,
                                 const Outside& outside) {
  const Result<AskedServer> asked = asked_server(command, std::move(request), outside);
  if (!asked) return tl::unexpected(asked.error());
  return answer_question(asked->engine, asked->request);
}

}  // namespace memtape::answer
