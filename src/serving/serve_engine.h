// SPDX-License-Identifier: Apache-2.0
// ServeEngine: how an inference engine plugs into `memtape serve`. It names the flags that it
// takes, in its own spellings, and answers a request. predict/serve.cpp holds the table of engines;
// a new engine is a folder of src/framework and a row there.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocator_config.h"
#include "allocator/placement.h"
#include "base/result.h"
#include "mesh/device_setup.h"
#include "mesh/gpu_catalog.h"
#include "model/config.h"
#include "model/tensor_list.h"
#include "outcome/serve_answer.h"
#include "release/release.h"
#include "workload/serve_options.h"

namespace memtape {

namespace llamacpp {
struct GgufHeader;
}

/// A model in addition to the one that is served: one that drafts for it, or an adapter of it.
struct SideModel {
  std::string id;  ///< as the user named it; "" if there is none
  const Config* config = nullptr;
  const llamacpp::GgufHeader* gguf = nullptr;
};

struct ServeRequest {
  std::string id;                      ///< the model as the user named it
  const Config* config = nullptr;      ///< config.json, or GGUF metadata as JSON
  const TensorList* header = nullptr;  ///< the tensors of a checkpoint, if they are known
  const llamacpp::GgufHeader* gguf = nullptr;
  SideModel draft;  ///< the model that proposes tokens to the served one
  std::vector<SideModel> adapters;
  ServeOptions options;
  Release release;  ///< the releases of the packages on which the engine runs
  DeviceSetup device;
  /// The tokens of a user's prompt and answer, if requests may be longer than that.
  std::optional<std::int64_t> user_tokens;
};

/// A flag that may make a server fit. Flags are tried in the order of the engine's list, the share
/// last if the user has chosen one.
struct ServeRemedy {
  enum class How : std::uint8_t {
    largest,         ///< the largest value that fits, but at least `bound`
    smallest_share,  ///< the smallest share of the GPU that leaves enough for the cache
    doubled,         ///< doubled, up to `bound`
    value,           ///< the value in `text`
    first_of,        ///< the first that fits of the values in `text`, the mildest first
    fitted,          ///< the value that the engine's own search finds (ServeAnswer::fitted)
  };
  std::string_view flag;
  How how = How::value;
  std::int64_t bound = 0;
  std::string_view text = {};
  std::string_view cost = {};
  bool of_given = false;  ///< only where the user gave the flag
  bool drastic = false;   ///< together with others only where all else is not enough
};

/// How an engine holds several users: in a pool of pages, or with a place for each user, whose
/// number is found by trial. The names are the flags for the length of the users' texts and for
/// their number; a name is "" if there is no such flag.
struct ServeUsers {
  enum class Holds : std::uint8_t { pool, places };
  Holds holds = Holds::pool;
  /// For the tokens of a user's prompt and answer, or of the prompt alone.
  std::string_view length;
  std::string_view output = {};
  std::string_view count = {};
  bool length_is_of_all = false;  ///< the length is that of all users together
  std::string_view with = {};     ///< a switch that must be given with it
};

/// Flags that do nothing unless one of the others is given, too. Names are without dashes.
struct FlagNeeds {
  std::string_view flags, one_of;
};

/// How a plan is expressed by an engine's flags, and how the planned server is started.
struct PlannedServer {
  std::string_view tensor_parallel, length, sequences;  ///< flags, without the dashes
  /// Ranks of attention with requests of their own, and the switch for whole experts on a rank; "":
  /// neither is planned.
  std::string_view data_parallel = {}, expert_parallel = {};
  /// Ranks of attention are groups of the tensor parallel ranks, whose number counts all GPUs, as
  /// the requests count those of all groups (SGLang); and the flag for the ranks of experts there.
  bool groups_ranks = false;
  std::string_view expert_ranks = {};
  std::string_view batched_tokens = {};       ///< the tokens of a step; "": the engine's own choice
  std::string_view program, model_flag = {};  ///< "": the model is a word without a flag
  std::string_view image, entry;  ///< a container, and the first words for its entry point
  std::string_view listens = {};  ///< makes a container listen to other machines
  int port = 8000;
};

/// How `memtape verify serve` runs the engine itself: not at all, generate() once, or until it is
/// ready to serve.
enum class RealServer : std::uint8_t { none, generate, start };

struct ServeEngine {
  std::string_view name;
  std::string_view summary;  ///< one line for the help
  std::string_view source;   ///< the upstream file that has its flags
  std::span<const ServeFlag> flags;
  Result<ServeAnswer> (*serve)(const ServeRequest&);
  std::span<const ServeRemedy> remedies;
  ServeUsers users;
  bool truths_follow = false;         ///< a switch may be followed by true or false
  bool spreads_over_gpus = false;     ///< --gpus alone says over how many GPUs the model is spread
  bool batch_is_of_tokens = false;    ///< "batch" counts tokens, not sequences
  bool takes_unified_memory = false;  ///< what does not fit on a GPU may lie in host memory
  std::span<const FlagNeeds> needs = {};
  const PlannedServer* planned = nullptr;  ///< null: its servers are not planned
  RealServer real = RealServer::none;
  bool chats_at_home = false;  ///< the one that `memtape fits` asks what fits on a machine
};

}  // namespace memtape
