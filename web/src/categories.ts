// SPDX-License-Identifier: Apache-2.0
// The categories of docs/json.md: their order from what stays to what comes and goes, and what they are called here.
export interface Category {
  name: string;
  label: string;
  says: string;
}

const all: Category[] = [
  {name: 'parameter', label: 'weights', says: 'the model itself'},
  {name: 'buffer', label: 'buffers', says: 'what modules keep beside weights'},
  {name: 'optimizer_state', label: 'optimizer', says: 'what the optimizer keeps of each weight'},
  {name: 'kv_cache', label: 'KV cache', says: 'keys and values of the tokens so far'},
  {name: 'cuda_graph', label: 'CUDA graphs', says: 'recorded launches and their buffers'},
  {name: 'communication', label: 'communication', says: 'buffers that GPUs exchange'},
  {name: 'workspace', label: 'workspaces', says: 'scratch that libraries keep'},
  {name: 'gradient', label: 'gradients', says: 'of weights'},
  {name: 'activation', label: 'activations', says: 'kept from forward for backward'},
  {name: 'input', label: 'inputs', says: 'the batch'},
  {name: 'temporary', label: 'temporaries', says: 'alive within a few operations'},
  {name: 'autograd_detail', label: 'autograd', says: 'gradients of activations on their way'},
  {name: 'unknown', label: 'other', says: 'kept by the allocator'},
  {name: 'context', label: 'outside', says: 'CUDA context and kernels, outside the allocator'},
];

export const CATEGORIES: readonly Category[] = all;
const byName = new Map(all.map(c => [c.name, c]));
export const categoryOf = (name: string): Category => byName.get(name) ?? {name, label: name.replaceAll('_', ' '), says: ''};
export const colourOf = (name: string): string => `var(--${name})`;
