// SPDX-License-Identifier: Apache-2.0
// How a model fits a machine that runs llama.cpp: the best weights that go on the GPU with the
// context that is wanted, with them the longest context; else what llama.cpp's own fitting puts
// there, the rest in the host's memory.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "answer/fits.h"
#include "answer/serve_request.h"
#include "predict/serve.h"

namespace memtape::answer {
namespace {

constexpr std::int64_t kContextStep = 1024;  ///< contexts are found to so many tokens

class Chat {
 public:
  Chat(const CatalogEntry& entry, const ModelSource& source, const FitsQuestion& question,
       const Outside& outside)
      : entry_(entry), source_(source), q_(question), outside_(outside) {
    found_.id = entry.id;
    found_.family = entry.family;
    found_.parameters = entry.parameters;
  }

  Fitting find() && {
    const Result<ServeAnswer> whole = ask({"", 0, false});
    if (!whole || whole->ranks.empty() || whole->ranks.front().kv_cache.layers.empty()) {
      found_.failure = whole ? "it makes no text token by token" : whole.error().line();
      return found_;
    }
    found_.parameters = whole->model.parameters;
    found_.all_tokens = tokens_of(*whole);
    least_ = std::min(q_.least_tokens, found_.all_tokens);
    const bool has_gpu = q_.room().has_value();
    if (q_.where != FitsQuestion::Where::partly)
      for (const std::string& weights : kinds())
        if (try_whole(weights, has_gpu ? Fitting::Place::gpu : Fitting::Place::host)) return found_;
    const bool is_shared = has_gpu && q_.device.gpu && q_.device.gpu->vendor == "Apple";
    if (has_gpu && q_.host_memory && !is_shared && q_.where != FitsQuestion::Where::gpu)
      for (const std::string& weights : usual_first())
        if (try_partly(weights)) return found_;
    return found_;
  }

 private:
  struct Try {
    std::string weights;
    std::int64_t context = 0;
    bool fit = false;
  };

  /// A checkpoint that is quantized is served as it is.
  std::vector<std::string> kinds() const {
    std::vector<std::string> kinds = q_.weights;
    if (ships_quantized()) kinds.insert(kinds.begin(), "");
    return kinds;
  }

  /// Where the CPU computes, too, what it has to read decides: the usual kind before larger ones.
  std::vector<std::string> usual_first() const {
    std::vector<std::string> kinds = q_.weights;
    const auto usual = std::ranges::find(kinds, "Q4_K_M");
    if (usual != kinds.end()) kinds.erase(kinds.begin(), usual);
    if (ships_quantized()) kinds.insert(kinds.begin(), "");
    return kinds;
  }

  /// llama.cpp keeps MXFP4 as it is stored; other formats are made 16 bits wide on the way.
  bool ships_quantized() const {
    return source_.config &&
           source_.config->json("quantization_config").find("mxfp4") != std::string::npos;
  }

  NamedValues options_of(const Try& wanted) const {
    auto values = q_.device_values;
    if (!q_.room()) {
      values.emplace_back("device", "none");
      values.emplace_back("host-memory-bytes", fmt::format("{}", *q_.host_memory - q_.reserve));
    }
    if (!wanted.weights.empty()) values.emplace_back("quantize", wanted.weights);
    if (wanted.context > 0) values.emplace_back("ctx-size", fmt::format("{}", wanted.context));
    if (wanted.fit) values.emplace_back("fit", "");
    return values;
  }

  Result<ServeAnswer> ask(const Try& wanted) const {
    ServeCommand command;
    command.model = entry_.id;
    command.engine = engine_.name;
    command.values = options_of(wanted);
    Result<AskedServer> asked = asked_server(command, served(source_), outside_);
    if (!asked) return tl::unexpected(asked.error());
    if (const auto room = q_.room()) asked->request.device.total_override = room;
    return predict_serve(asked->engine, asked->request);
  }

  bool fits(const Result<ServeAnswer>& answer) const {
    return answer && q_.accepts(answer->verdict, answer->fits);
  }

  static std::int64_t tokens_of(const ServeAnswer& answer) {
    for (const Setting& setting : answer.workload) {
      std::int64_t tokens = 0;
      const std::string& text = setting.json_value;
      if (setting.name == "ctx_size" &&
          std::from_chars(text.data(), text.data() + text.size(), tokens).ec == std::errc())
        return tokens;
    }
    return 0;
  }

  /// What lies in the host's buffers: those of no GPU, and those a GPU can read ("CUDA_Host").
  static Bytes host_bytes(const ServeAnswer& answer) {
    Bytes bytes = 0;
    for (const BufferBytes& buffer : answer.buffers)
      if (buffer.name.starts_with("CPU") || buffer.name.ends_with("_Host"))
        bytes += buffer.model + buffer.context + buffer.compute;
    return bytes;
  }

  bool try_whole(const std::string& weights, Fitting::Place place) {
    Result<ServeAnswer> best = ask({weights, least_, false});
    if (!fits(best)) return false;
    if (place == Fitting::Place::gpu && q_.host_memory && host_bytes(*best) > *q_.host_memory)
      return false;
    std::int64_t low = least_, high = found_.all_tokens;
    if (Result<ServeAnswer> all = ask({weights, high, false}); fits(all)) {
      best = std::move(all);
      low = high;
    }
    while (high - low > kContextStep) {
      const std::int64_t middle = (low + (high - low) / 2) / kContextStep * kContextStep;
      if (middle <= low) break;
      Result<ServeAnswer> answer = ask({weights, middle, false});
      if (fits(answer)) {
        best = std::move(answer);
        low = middle;
      } else {
        high = middle;
      }
    }
    take(*best, {weights, low, false}, place);
    return true;
  }

  bool try_partly(const std::string& weights) {
    const Try wanted{weights, least_, true};
    const Result<ServeAnswer> answer = ask(wanted);
    if (!fits(answer) || host_bytes(*answer) > *q_.host_memory) return false;
    take(*answer, wanted, Fitting::Place::partly);
    if (!answer->notes.empty()) found_.note = answer->notes.front();
    return true;
  }

  void take(const ServeAnswer& answer, const Try& tried, Fitting::Place place) {
    found_.place = place;
    found_.with = tried.weights.empty() ? "MXFP4" : tried.weights;
    found_.tokens = tried.context;
    found_.host_bytes = host_bytes(answer);
    found_.weight_bytes = answer.model.weight_bytes;
    found_.verdict = answer.verdict;
    for (const ServeRank& rank : answer.ranks)
      found_.peak_device_bytes = std::max(found_.peak_device_bytes, rank.peak_device_bytes);
    auto options = options_of(tried);
    options.insert(options.begin(), {"engine", std::string(engine_.name)});
    found_.ask_by("serve", options, q_);
  }

  const ServeEngine& engine_ =
      *std::ranges::find(serve_engines(), true, &ServeEngine::chats_at_home);
  const CatalogEntry& entry_;
  const ModelSource& source_;
  const FitsQuestion& q_;
  const Outside& outside_;
  std::int64_t least_ = 0;
  Fitting found_;
};

}  // namespace

Fitting fitting_chat(const CatalogEntry& entry, const ModelSource& source,
                     const FitsQuestion& question, const Outside& outside) {
  return Chat(entry, source, question, outside).find();
}

}  // namespace memtape::answer
