// SPDX-License-Identifier: Apache-2.0
// The CUDA runtime's types, as far as the stand-ins use them. Their layout is the one that the
// reference manual documents ("Data types used by CUDA Runtime", versions 12 and 13, which differ
// in a few members). PHANTOM_CUDA is the major version for which a library is built.
#pragma once

#include <cstddef>

namespace memtape::phantom {

#ifndef PHANTOM_CUDA
#define PHANTOM_CUDA 13
#endif

/// cudaError_t
enum RuntimeError : int {
  runtime_success = 0,
  runtime_invalid_value = 1,
  runtime_out_of_memory = 2,
  runtime_invalid_device = 101,
  runtime_not_ready = 600,
  runtime_not_supported = 801,
};

enum class MemoryType : int { unregistered = 0, host = 1, device = 2, managed = 3 };

struct PointerAttributes {
  MemoryType type;
  int device;
  void* device_pointer;
  void* host_pointer;
#if PHANTOM_CUDA >= 13
  long reserved[8];
#endif
};

struct Dim3 {
  unsigned x, y, z;
};

struct FunctionAttributes {
  std::size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version, cache_mode_ca,
      max_dynamic_shared_bytes, preferred_shared_carveout, cluster_dim_must_be_set,
      required_cluster_width, required_cluster_height, required_cluster_depth,
      cluster_scheduling_policy, non_portable_cluster_size_allowed, reserved[16];
};

/// cudaDeviceProp
struct DeviceProperties {
  char name[256], uuid[16], luid[8];
  unsigned luid_device_node_mask;
  std::size_t total_global_memory, shared_per_block;
  int registers_per_block, warp_size;
  std::size_t memory_pitch;
  int max_threads_per_block, max_threads[3], max_grid[3];
#if PHANTOM_CUDA < 13
  int clock_rate;
#endif
  std::size_t constant_memory;
  int major, minor;
  std::size_t texture_alignment, texture_pitch_alignment;
#if PHANTOM_CUDA < 13
  int device_overlap;
#endif
  int multiprocessors;
#if PHANTOM_CUDA < 13
  int kernel_timeout;
#endif
  int integrated, can_map_host_memory;
#if PHANTOM_CUDA < 13
  int compute_mode;
#endif
  int texture_1d, texture_1d_mipmap;
#if PHANTOM_CUDA < 13
  int texture_1d_linear;
#endif
  int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2],
      texture_3d[3], texture_3d_alt[3], texture_cubemap, texture_1d_layered[2],
      texture_2d_layered[3], texture_cubemap_layered[2];
  int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3],
      surface_cubemap, surface_cubemap_layered[2];
  std::size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc_driver, async_engines,
      unified_addressing;
#if PHANTOM_CUDA < 13
  int memory_clock_rate;
#endif
  int memory_bus_width, l2_bytes, persisting_l2_bytes, threads_per_multiprocessor,
      stream_priorities, global_l1, local_l1;
  std::size_t shared_per_multiprocessor;
  int registers_per_multiprocessor, managed_memory, multi_gpu_board, multi_gpu_board_group,
      host_native_atomics;
#if PHANTOM_CUDA < 13
  int single_to_double_ratio;
#endif
  int pageable_access, concurrent_managed_access, compute_preemption, host_pointer_for_registered,
      cooperative_launch;
#if PHANTOM_CUDA < 13
  int cooperative_multi_device_launch;
#endif
  std::size_t shared_per_block_optin;
  int pageable_host_tables, direct_managed_from_host, blocks_per_multiprocessor,
      access_policy_window;
  std::size_t reserved_shared_per_block;
  int host_register, sparse_arrays, host_register_read_only, timeline_semaphores, memory_pools,
      gpu_direct_rdma;
  unsigned gpu_direct_flush_options;
  int gpu_direct_ordering;
  unsigned memory_pool_handle_types;
  int deferred_mapping_arrays, ipc_events, cluster_launch, unified_function_pointers;
  int later[63];  ///< members of later minor versions and reserved room, all zero
};

}  // namespace memtape::phantom
