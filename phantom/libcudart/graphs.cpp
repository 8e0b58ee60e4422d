// SPDX-License-Identifier: Apache-2.0
// Stream capture. PyTorch's allocator asks which streams capture, to give a graph its own pool;
// what the graph holds does not matter to memory, so graphs are empty.
#include "core/streams.h"
#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

enum CaptureStatus : int { capture_none = 0, capture_active = 1 };
int graph;  ///< stands for every graph, captured or instantiated

CaptureStatus status_of(const Stream& stream) {
  return is_capturing(stream) ? capture_active : capture_none;
}

int no_graph(void** handle) {
  *handle = &graph;
  return runtime_success;
}

struct CaptureInfo {
  int* status;
  unsigned long long* id;
  void** graph_of;
  std::size_t* dependencies;
};

int tell(void* stream, const CaptureInfo& to) {
  const Stream& s = stream_of(stream);
  *to.status = status_of(s);
  if (to.id) *to.id = *to.status == capture_active ? s.capture : 0;
  if (to.graph_of) *to.graph_of = &graph;
  if (to.dependencies) *to.dependencies = 0;
  return runtime_success;
}

}  // namespace

PHANTOM_ENTRY int cudaStreamBeginCapture(void* stream, int) {
  begin_capture(stream_of(stream));
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamEndCapture(void* stream, void** captured) {
  end_capture(stream_of(stream));
  return no_graph(captured);
}
PHANTOM_ENTRY int cudaStreamIsCapturing(void* stream, int* status) {
  *status = status_of(stream_of(stream));
  return runtime_success;
}

#if PHANTOM_CUDA >= 13
PHANTOM_ENTRY int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id,
                                           void** captured, const void** nodes, const void** edges,
                                           std::size_t* count) {
  if (nodes) *nodes = nullptr;
  if (edges) *edges = nullptr;
  return tell(stream, {status, id, captured, count});
}
#else
PHANTOM_ENTRY int cudaStreamGetCaptureInfo(void* stream, int* status, unsigned long long* id) {
  return tell(stream, {status, id, nullptr, nullptr});
}
PHANTOM_ENTRY int cudaStreamGetCaptureInfo_v2(void* stream, int* status, unsigned long long* id,
                                              void** captured, const void** nodes,
                                              std::size_t* count) {
  if (nodes) *nodes = nullptr;
  return tell(stream, {status, id, captured, count});
}
PHANTOM_ENTRY int cudaStreamGetCaptureInfo_v3(void* stream, int* status, unsigned long long* id,
                                              void** captured, const void** nodes,
                                              const void** edges, std::size_t* count) {
  if (edges) *edges = nullptr;
  return cudaStreamGetCaptureInfo_v2(stream, status, id, captured, nodes, count);
}
#endif

PHANTOM_ENTRY int cudaGraphCreate(void** made, unsigned) { return no_graph(made); }
PHANTOM_ENTRY int cudaGraphInstantiate(void** made, void*, unsigned long long) {
  return no_graph(made);
}
PHANTOM_ENTRY int cudaGraphInstantiateWithFlags(void** made, void*, unsigned long long) {
  return no_graph(made);
}
PHANTOM_ENTRY int cudaGraphGetNodes(void*, void**, std::size_t* count) {
  *count = 1;  // programs refuse to replay an empty graph
  return runtime_success;
}
