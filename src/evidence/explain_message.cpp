// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "evidence/compiler_oom.h"
#include "evidence/explain_server.h"

namespace memtape {
namespace {

using ExplainedWording = OomMessage::Wording;

/// "4.36 GiB (to 5.12 MiB)": what the digits of the message leave open is said where it matters.
std::string about(const Quantity& q) { return human_bytes(q.bytes); }

class MessageReader {
 public:
  MessageReader(ExplainedMessage& out, const std::vector<LogFigure>& figures)
      : out_(out), m_(out.message), figures_(figures) {}

  void read() {
    switch (m_.wording) {
      case ExplainedWording::torch_parentheses:
      case ExplainedWording::torch_sentences:
      case ExplainedWording::torch_async: torch(); break;
      case ExplainedWording::torch_short: torch_short(); break;
      case ExplainedWording::torch_mps: mps(); break;
      case ExplainedWording::host_killed: host_killed(); break;
      case ExplainedWording::host_refused: host_refused(); break;
      case ExplainedWording::host_shared: host_shared(); break;
      case ExplainedWording::dispatched: dispatched(); break;
      case ExplainedWording::xla:
      case ExplainedWording::tensorflow:
      case ExplainedWording::triton: explain_compiler(out_); break;
      case ExplainedWording::cuda_plain:
      case ExplainedWording::cublas:
      case ExplainedWording::nccl: plain(); break;
      default: explain_server(out_, figures_);
    }
  }

 private:
  void finding(std::string text) { out_.findings.push_back(std::move(text)); }
  void remedy(std::string change, std::string effect, std::optional<Bytes> bytes, bool enough) {
    out_.remedies.push_back({std::move(change), std::move(effect), bytes, enough});
  }

  /// Where the command belongs that names what makes it fit, each with its exact peak.
  void ask(std::optional<Bytes> missing) {
    if (!m_.server.empty()) return advise_server(out_, figures_, missing.value_or(0));
    remedy("memtape train MODEL --gpu NAME ... (or: memtape -- YOUR COMMAND)",
           "names the changes that make it fit, each with its exact peak", missing, false);
  }

  /// A message cut short: what the device has and who holds it was said behind it.
  void torch_short() {
    finding(
        fmt::format("{} could not be had; the rest of the message, with what the device has and "
                    "who holds it, is cut off",
                    about(*m_.requested)));
    ask(std::nullopt);
  }

  void torch() {
    if (!m_.requested) return;
    const Bytes requested = m_.requested->bytes;
    if (m_.device && requested > m_.device->bytes)
      finding(
          fmt::format("the one request of {} is larger than the device ({}): no setting helps, "
                      "the tensor itself must be smaller",
                      about(*m_.requested), about(*m_.device)));
    outside();
    pieces();
    fraction();
    missing();
  }

  Bytes least_reserved() const {
    return m_.reserved().value_or(m_.allocated ? m_.allocated->bytes : 0);
  }

  /// A process holds what its allocator has reserved, so less than that is no count.
  bool counts_itself() const {
    return m_.process && m_.process->bytes + 64_MiB >= least_reserved();  // figures are rounded
  }

  /// What of the device is neither in the allocator's hands nor free.
  void outside() {
    if (!m_.device || !m_.free) return;
    const Bytes used = m_.device->bytes - m_.free->bytes;
    Bytes others = 0;
    for (const auto& [pid, held] : m_.other_processes) others += held.bytes;
    if (m_.process && !counts_itself())
      finding(fmt::format(
          "\"this process has {} memory in use\" is no count: in a container the driver does not "
          "know its processes by their numbers",
          m_.process->bytes == 0 ? "0 bytes" : about(*m_.process)));
    if (!m_.other_processes.empty() && others == 0)
      finding(
          fmt::format("\"Process {} has 0 bytes memory in use\" is no count: in a container the "
                      "driver does not tell what its processes hold",
                      m_.other_processes.front().first));
    if (m_.process && m_.reserved() && m_.process->bytes >= *m_.reserved())
      finding(
          fmt::format("{} of this process is outside the allocator: CUDA context, kernels, "
                      "NCCL and other libraries",
                      human_bytes(m_.process->bytes - *m_.reserved())));
    const Bytes ours = counts_itself() ? m_.process->bytes : least_reserved();
    if (counts_itself() || (others == 0 && ours > 0)) {
      const Bytes beyond = used - ours;
      if (beyond > 512_MiB)
        finding(fmt::format(
            "{} of the device is in use beyond what this process says it holds{}",
            human_bytes(beyond),
            counts_itself() ? ": other processes" : ": its CUDA context and other processes"));
    }
    if (others > 0) {
      const std::size_t named = m_.other_processes.size();
      finding(fmt::format("{} named on this GPU, with {}{}",
                          named == 1 ? "1 process is" : fmt::format("{} processes are", named),
                          human_bytes(others), named == 1 ? "" : " together"));
      if (counts_itself())
        end_others();
      else
        part_processes(others);
    }
  }

  void end_others() {
    if (!m_.free || !m_.requested) return;
    for (const auto& [pid, held] : m_.other_processes)
      if (held.bytes + m_.free->bytes >= m_.requested->bytes)
        remedy(fmt::format("end process {}", pid), fmt::format("{} more for this one", about(held)),
               held.bytes, true);
  }

  /// torch does not know its own number (in a container it is another): the process that holds what
  /// the allocator has, and least beyond it, is this one.
  void part_processes(Bytes all) {
    if (!m_.reserved() || m_.other_processes.size() < 2) return;
    const std::pair<std::int64_t, Quantity>* own = nullptr;
    for (const auto& process : m_.other_processes)
      if (process.second.bytes >= *m_.reserved() &&
          (own == nullptr || process.second.bytes < own->second.bytes))
        own = &process;
    if (own == nullptr) return;
    const Bytes held = all - own->second.bytes;
    finding(
        fmt::format("process {} is probably this one (it holds the least beyond what the allocator "
                    "has); the others have {}",
                    own->first, human_bytes(held)));
    remedy("torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])), or CUDA_VISIBLE_DEVICES",
           fmt::format("a GPU for each process: {} more for this one", human_bytes(held)), held,
           true);
  }

  /// The allocator's own free memory: enough of it in pieces is fragmentation.
  void pieces() {
    if (!m_.unallocated || !m_.requested) return;
    const Bytes free = m_.free ? m_.free->bytes : 0;
    if (free >= m_.requested->bytes) return driver_refused();
    const bool enough = m_.unallocated->bytes + free >= m_.requested->bytes;
    if (enough && m_.unallocated->bytes > 0) {
      finding(
          fmt::format("{} is reserved but not in use, more than is missing: it is in pieces, "
                      "or in segments that a live block keeps",
                      about(*m_.unallocated)));
      const bool is_old = m_.wording == ExplainedWording::torch_parentheses;  // before torch 2.1
      remedy(
          m_.settings_variable + (is_old ? "=max_split_size_mb:128" : "=expandable_segments:True"),
          fmt::format("up to {} of it becomes usable; {}", about(*m_.unallocated),
                      is_old ? "torch 2.1 and later have expandable_segments:True for it"
                             : "a snapshot says how much (memtape explain FILE.pickle replays "
                               "it)"),
          m_.unallocated->bytes, false);
    } else if (m_.unallocated->bytes > 0) {
      finding(
          fmt::format("only {} is reserved but not in use: settings of the allocator cannot "
                      "make room for {}",
                      about(*m_.unallocated), about(*m_.requested)));
    }
  }

  void driver_refused() {
    if (m_.allowed) return;
    finding(
        fmt::format("{} was free and {} was asked for: the driver refused it all the same, as it "
                    "does when another process took it in between, when Windows has no page "
                    "file to back it, or when one buffer has a limit of its own",
                    about(*m_.free), about(*m_.requested)));
  }

  void fraction() {
    if (!m_.allowed || !m_.device || m_.allowed->bytes >= m_.device->bytes) return;
    finding(fmt::format("the process may use {} of {}: set_per_process_memory_fraction",
                        about(*m_.allowed), about(*m_.device)));
    remedy("torch.cuda.set_per_process_memory_fraction(1.0)",
           fmt::format("{} more", human_bytes(m_.device->bytes - m_.allowed->bytes)),
           m_.device->bytes - m_.allowed->bytes, m_.free && m_.free->bytes >= m_.requested->bytes);
  }

  void missing() {
    if (!m_.free || !m_.requested) return;
    const Bytes missing =
        m_.requested->bytes - m_.free->bytes - (m_.unallocated ? m_.unallocated->bytes : 0);
    if (missing <= 0) return;
    finding(fmt::format("at least {} less must be in use at this moment", human_bytes(missing)));
    ask(missing);
  }

  void mps() {
    if (m_.allocated && !m_.other_processes.empty())
      finding(fmt::format("{} by torch, {} by others of this process and the system",
                          about(*m_.allocated), about(m_.other_processes.front().second)));
    if (m_.allowed)
      finding(fmt::format("torch may use {} (1.7 x the recommended working set, by default)",
                          about(*m_.allowed)));
    remedy("PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0", "no limit by torch; the system may swap or fail",
           std::nullopt, false);
  }

  /// The handles, buffers and graphs of libraries are not the allocator's.
  void plain() {
    if (m_.wording == ExplainedWording::cublas)
      finding(
          "a library (cuBLAS, cuDNN, cuSOLVER) could not make its handle or workspace: it takes "
          "its "
          "memory from the device itself, beside what torch has reserved");
    else if (m_.wording == ExplainedWording::nccl)
      finding(fmt::format(
          "NCCL could not make {}: a communicator takes its memory from the device itself, beside "
          "what torch has reserved, when it is first used",
          m_.requested ? "a buffer of " + about(*m_.requested) : "its buffers"));
    else
      finding(
          "no figures in the message: the request was not torch's own allocator's, but for pinned "
          "host memory (a DataLoader's pin_memory), a context or a graph, or other programs left "
          "nothing");
    if (!m_.server.empty()) return advise_server(out_, figures_, 0);
    if (m_.wording == ExplainedWording::nccl)
      remedy("NCCL_BUFFSIZE=1048576 NCCL_MAX_NCHANNELS=4",
             "smaller buffers and fewer of them, for slower messages", std::nullopt, false);
    remedy(m_.settings_variable + "=garbage_collection_threshold:0.8",
           "torch gives cached memory back before it takes the last of the device", std::nullopt,
           false);
    ask(std::nullopt);
  }

  /// A tensor of the host's: what is loaded, offloaded or pinned there.
  void host_refused() {
    if (m_.server == "ollama") return ollama_refused();
    finding(
        "the machine's own memory, or what its container may have, was used up: the tensor was to "
        "lie there, and the GPU's memory is not to blame");
    remedy("offload_optimizer, offload_param, --cpu-offload-gb",
           "less of the model on the host, where the GPU has room for it", std::nullopt, false);
    remedy("docker run --memory SIZE --shm-size SIZE",
           "where it is a container's limit and not the machine's", std::nullopt, false);
  }

  /// Ollama asks before it loads: what does not fit the GPU has to fit the machine.
  void ollama_refused() {
    finding(
        "Ollama counts what the GPU has no room for, weights and context, against the machine's "
        "free memory before it loads: nothing was loaded");
    remedy("OLLAMA_CONTEXT_LENGTH=4096", "less cache, where the context was longer", std::nullopt,
           false);
    remedy("a tag of fewer bits or parameters", "weights are most of it", std::nullopt, false);
    remedy("memtape fits --gpu NAME --host-memory SIZE", "which models this machine can chat with",
           std::nullopt, false);
  }

  /// quantizer_bnb_4bit.py, adjust_max_memory and validate_environment.
  void dispatched() {
    finding(
        "device_map=\"auto\" left layers to the CPU or the disk: nine tenths of what was free on "
        "the GPUs, which is what transformers plans with, do not hold the quantized weights");
    remedy("memtape detect", "what is free now, and which process holds the rest", std::nullopt,
           false);
    remedy("device_map={\"\": 0}", "all on one GPU, where its last tenth is enough", std::nullopt,
           false);
    ask(std::nullopt);
  }

  /// Workers of a DataLoader hand their batches over in /dev/shm.
  void host_shared() {
    finding(
        "/dev/shm, by which workers hand over their batches, was full: in a container it has 64 "
        "MiB unless more is asked for; the GPU's memory is not to blame");
    remedy("docker run --shm-size 16g, or --ipc host", "room for the batches of all workers",
           std::nullopt, false);
    remedy("--dataloader_num_workers 0", "batches are made by the process itself", std::nullopt,
           false);
  }

  /// The machine's own memory: no setting of a GPU helps.
  void host_killed() {
    finding(
        "the system ended the process (signal 9): it ran out of the machine's own memory, or of "
        "what its container may have; the GPU's memory is not to blame");
    remedy("dmesg | grep -i 'killed process'",
           "the kernel says which process it was, and how much it held", std::nullopt, false);
    if (!m_.server.empty())
      remedy("--load-format safetensors",
             "weights are mapped from files, not read into each process", std::nullopt, false);
    else
      remedy("--dataloader_num_workers 0", "one copy of the data, not one in each worker",
             std::nullopt, false);
    remedy("docker run --memory SIZE --shm-size SIZE",
           "where it is a container's limit and not the machine's", std::nullopt, false);
  }

  ExplainedMessage& out_;
  const OomMessage& m_;
  const std::vector<LogFigure>& figures_;
};

}  // namespace

ExplainedMessage explained(OomMessage message, const std::vector<LogFigure>& figures) {
  ExplainedMessage out;
  out.message = std::move(message);
  MessageReader(out, figures).read();
  return out;
}

}  // namespace memtape
