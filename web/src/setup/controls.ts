// SPDX-License-Identifier: Apache-2.0
// The controls of each task, as data: what a page shows, and what each is at first.
export type Values = Record<string, string>;

export interface Control {
  key: string;
  label: string;
  kind: 'slider' | 'choice' | 'select' | 'switch' | 'text';
  options: readonly string[];  // of a text: suggestions
  initial: string;
  names?: Record<string, string>;  // what options are called, where that is not what they are
  unit?: string;
  help?: string;
  placeholder?: string;
  when?: (v: Values) => boolean;
}

/** Powers of two and what lies halfway between them. */
function stops(from: number, to: number, halves: boolean): string[] {
  const all: string[] = [];
  for (let n = from; n <= to; n *= 2) {
    all.push(String(n));
    if (halves && n >= 2 && n * 1.5 < to) all.push(String(n * 1.5));
  }
  return all;
}

const GPUS = stops(1, 64, false);
const BATCH = stops(1, 128, true);
const TOKENS = stops(128, 131072, true);
const CHECKPOINTING = 'each layer is computed again in backward';

const batch: Control = {key: 'batch', label: 'Batch', kind: 'slider', options: BATCH, initial: '1', unit: 'sequences',
  help: 'sequences a GPU takes at a time'};
const sequence: Control = {key: 'sequence', label: 'Sequence', kind: 'slider', options: TOKENS, initial: '2048', unit: 'tokens'};
const price: Control = {key: 'price', label: 'Price of a GPU', kind: 'text', options: [], initial: '', placeholder: 'an hour, like 2.50',
  help: 'what an hour of one GPU costs, in any currency'};
const releases: Control = {key: 'with', label: 'Releases', kind: 'text', options: [], initial: '', placeholder: 'the newest known',
  help: 'what is installed, like torch==2.8.0,transformers==4.57.6'};
const several = (v: Values): boolean => v.gpus !== '1';

const TRAIN: readonly Control[] = [
  batch, sequence,
  {key: 'precision', label: 'Precision', kind: 'choice', options: ['bf16', 'amp-bf16', 'fp32'], initial: 'bf16',
    names: {bf16: 'bf16', 'amp-bf16': 'mixed', fp32: 'fp32'}, help: 'mixed: float32 weights, bfloat16 products (autocast)'},
  {key: 'optimizer', label: 'Optimizer', kind: 'select', initial: 'adamw',
    options: ['adamw', 'adamw-fused', 'adam', 'nadam', 'adafactor', 'adagrad', 'rmsprop', 'sgd-momentum', 'sgd'],
    names: {adamw: 'AdamW', 'adamw-fused': 'AdamW, fused', adam: 'Adam', nadam: 'NAdam', adafactor: 'Adafactor', adagrad: 'Adagrad',
      rmsprop: 'RMSprop', 'sgd-momentum': 'SGD with momentum', sgd: 'SGD'}},
  {key: 'checkpointing', label: 'Gradient checkpointing', kind: 'switch', options: ['off', 'on'], initial: 'off', help: CHECKPOINTING},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: GPUS, initial: '1'},
  {key: 'spread', label: 'Spread by', kind: 'select', options: ['fsdp2', 'ddp', 'zero2', 'zero3', 'tensor', 'pipeline'], initial: 'fsdp2',
    names: {fsdp2: 'FSDP2', ddp: 'DDP', zero2: 'DeepSpeed ZeRO 2', zero3: 'DeepSpeed ZeRO 3', tensor: 'tensor parallel', pipeline: 'pipeline'},
    when: several},
  {key: 'offload', label: 'In host memory', kind: 'select', options: ['none', 'optimizer', 'all'], initial: 'none',
    names: {none: 'nothing', optimizer: 'the optimizer', all: 'weights and optimizer'}, when: v => several(v) && /^zero/.test(v.spread)},
  releases, price,
];

const TUNE: readonly Control[] = [
  {key: 'method', label: 'Method', kind: 'choice', options: ['lora', 'qlora', 'full'], initial: 'lora',
    names: {lora: 'LoRA', qlora: 'QLoRA', full: 'all weights'}, help: 'LoRA: adapters beside frozen weights; QLoRA: beside weights in 4 bits'},
  {key: 'rank', label: 'Rank', kind: 'slider', options: stops(4, 512, false), initial: '16', when: v => v.method !== 'full'},
  batch, sequence,
  {key: 'optim', label: 'Optimizer', kind: 'select', options: ['', 'adamw_torch', 'adamw_8bit', 'paged_adamw_8bit', 'adafactor'], initial: '',
    names: {'': "the recipe's own", adamw_torch: 'AdamW', adamw_8bit: 'AdamW, 8 bits', paged_adamw_8bit: 'AdamW, 8 bits, paged', adafactor: 'Adafactor'}},
  {key: 'checkpointing', label: 'Gradient checkpointing', kind: 'switch', options: ['off', 'on'], initial: 'on', help: CHECKPOINTING},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: GPUS, initial: '1'},
  {key: 'shard', label: 'Spread by', kind: 'choice', options: ['ddp', 'fsdp'], initial: 'ddp', names: {ddp: 'DDP', fsdp: 'FSDP'},
    when: v => several(v) && v.method !== 'qlora'},
  releases, price,
];

const isServer = (v: Values): boolean => v.engine !== 'transformers';
export const isBatched = (v: Values): boolean => v.engine === 'vllm' || v.engine === 'sglang';

const SERVE: readonly Control[] = [
  {key: 'engine', label: 'Engine', kind: 'select', options: ['vllm', 'sglang', 'llamacpp', 'transformers'], initial: 'vllm',
    names: {vllm: 'vLLM', sglang: 'SGLang', llamacpp: 'llama.cpp', transformers: 'transformers, generate()'}},
  {key: 'users', label: 'Users at a time', kind: 'slider', options: stops(1, 512, true), initial: '8'},
  {key: 'context', label: 'Prompt', kind: 'slider', options: TOKENS, initial: '4096', unit: 'tokens'},
  {key: 'output', label: 'Answer', kind: 'slider', options: stops(128, 16384, true), initial: '512', unit: 'tokens'},
  {key: 'quant', label: 'Weights', kind: 'select', initial: 'Q4_K_M', when: v => v.engine === 'llamacpp',
    options: ['BF16', 'Q8_0', 'Q6_K', 'Q5_K_M', 'Q4_K_M', 'IQ4_XS', 'Q3_K_M', 'Q2_K']},
  {key: 'weights', label: 'Weights', kind: 'select', options: ['', 'fp8', 'awq', 'gptq', 'gptq8'], initial: '', when: isBatched,
    names: {'': "the model's own", fp8: 'FP8', awq: '4 bits, AWQ', gptq: '4 bits, GPTQ', gptq8: '8 bits, GPTQ'}},
  {key: 'cache', label: 'KV cache', kind: 'choice', options: ['', 'fp8'], initial: '', names: {'': "the model's own"}, when: isBatched},
  {key: 'cache_type', label: 'KV cache', kind: 'choice', options: ['', 'q8_0', 'q4_0'], initial: '', names: {'': 'f16'},
    when: v => v.engine === 'llamacpp'},
  {key: 'layers', label: 'Layers on the GPU', kind: 'slider', initial: 'all', when: v => v.engine === 'llamacpp', help: 'llama.cpp -ngl; the others lie in host memory',
    options: ['0', '4', '8', '12', '16', '20', '24', '28', '32', '36', '40', '48', '56', '64', '72', '80', 'all']},
  {key: 'host', label: 'Weights in host memory', kind: 'slider', options: ['0', '2', '4', '8', '12', '16', '24', '32', '48', '64', '96', '128'], initial: '0', unit: 'GiB a GPU',
    when: isBatched, help: '--cpu-offload-gb: GiB of weights that lie in host memory, of each GPU'},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: ['1', '2', '4', '8'], initial: '1', when: isServer},
  {...releases, placeholder: 'the newest known', help: 'what is installed, like vllm==0.30.0', when: v => isBatched(v)},
  {...price, when: isBatched},
];

const isChat = (v: Values): boolean => v.purpose !== 'train';

/** What runs on this machine? */
const MINE: readonly Control[] = [
  {key: 'purpose', label: 'It should', kind: 'choice', options: ['chat', 'train'], initial: 'chat', names: {chat: 'chat', train: 'learn'},
    help: 'chat: llama.cpp serves the model to one person; learn: PyTorch trains it'},
  {key: 'context', label: 'Context, at least', kind: 'slider', options: stops(1024, 131072, false), initial: '8192', unit: 'tokens', when: isChat},
  {key: 'host', label: 'Host memory', kind: 'slider', options: ['0', '8', '16', '24', '32', '48', '64', '96', '128', '192', '256', '512'], initial: '0', unit: 'GiB',
    when: isChat, help: 'for what the GPU has no room for'},
  {key: 'sequence', label: 'Sequence, at least', kind: 'slider', options: TOKENS, initial: '2048', unit: 'tokens', when: v => !isChat(v)},
  {key: 'method', label: 'Method', kind: 'select', options: ['', 'full', 'lora', 'qlora'], initial: '', when: v => !isChat(v),
    names: {'': 'the most thorough that fits', full: 'all weights', lora: 'LoRA', qlora: 'QLoRA'}},
  {key: 'size', label: 'Size', kind: 'select', options: ['', '..4B', '4B..15B', '15B..40B', '40B..'], initial: '',
    names: {'': 'any', '..4B': 'up to 4 B', '4B..15B': '4 to 15 B', '15B..40B': '15 to 40 B', '40B..': 'from 40 B'}},
];

const OBJECTIVES = {throughput: 'tokens a second', gpus: 'few GPUs', cost: 'cost', headroom: 'memory to spare'};

const PLAN: readonly Control[] = [
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: GPUS, initial: '1'},
  {key: 'method', label: 'Method', kind: 'select', options: ['full', 'lora', 'qlora', 'lora,qlora', 'full,lora,qlora'], initial: 'full',
    names: {full: 'all weights', lora: 'LoRA', qlora: 'QLoRA', 'lora,qlora': 'LoRA or QLoRA', 'full,lora,qlora': 'whatever fits'}},
  sequence,
  {key: 'global', label: 'Sequences a step', kind: 'slider', options: stops(1, 4096, false), initial: '16', help: 'on all GPUs, before the optimizer steps'},
  {key: 'objective', label: 'Best is', kind: 'select', options: Object.keys(OBJECTIVES), initial: 'throughput', names: OBJECTIVES},
  price,
];

const PLAN_SERVE: readonly Control[] = [
  {key: 'engine', label: 'Engine', kind: 'select', options: ['vllm', 'sglang', 'any'], initial: 'vllm', names: {vllm: 'vLLM', sglang: 'SGLang', any: 'either'}},
  {key: 'gpus', label: 'GPUs at hand', kind: 'slider', options: GPUS, initial: '2'},
  {key: 'users', label: 'Users at a time', kind: 'slider', options: stops(1, 512, true), initial: '8'},
  {key: 'context', label: 'Prompt', kind: 'slider', options: TOKENS, initial: '4096', unit: 'tokens'},
  {key: 'output', label: 'Answer', kind: 'slider', options: stops(128, 16384, true), initial: '512', unit: 'tokens'},
  {key: 'rounding', label: 'Rounded weights', kind: 'choice', options: ['', 'fp8'], initial: '', names: {'': 'no', fp8: 'FP8'}},
  price,
];

export const CONTROLS = {train: TRAIN, tune: TUNE, serve: SERVE, mine: MINE, plan: PLAN, 'plan-serve': PLAN_SERVE, explain: [] as readonly Control[]};
