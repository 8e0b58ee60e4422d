// SPDX-License-Identifier: Apache-2.0
// A set-up: what the sliders say, and the words of the command line that say the same (docs/json.md, `memtape train --help`).
import {shellWords} from '../format';

export type Task = 'train' | 'tune' | 'serve';
export type Values = Record<string, string>;

export interface Setup {
  task: Task;
  model: string;
  gpu: string;
  values: Values;
  more: string;  // further options, as one types them
}

export interface Control {
  key: string;
  label: string;
  kind: 'slider' | 'choice' | 'select' | 'switch';
  options: readonly string[];
  initial: string;
  names?: Record<string, string>;  // what options are called, where that is not what they are
  unit?: string;
  help?: string;
  when?: (v: Values) => boolean;
}

export const TASKS: readonly {key: Task; label: string}[] = [
  {key: 'train', label: 'Train'}, {key: 'tune', label: 'Fine-tune'}, {key: 'serve', label: 'Serve'}];

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

const batch = (help: string): Control => ({key: 'batch', label: 'Batch', kind: 'slider', options: BATCH, initial: '1', unit: 'sequences', help});
const sequence: Control = {key: 'sequence', label: 'Sequence', kind: 'slider', options: TOKENS, initial: '2048', unit: 'tokens'};
const several = (v: Values): boolean => v.gpus !== '1';

const TRAIN: readonly Control[] = [
  batch('sequences a GPU takes at a time'), sequence,
  {key: 'precision', label: 'Precision', kind: 'choice', options: ['bf16', 'amp-bf16', 'fp32'], initial: 'bf16',
    names: {bf16: 'bf16', 'amp-bf16': 'mixed', fp32: 'fp32'}, help: 'mixed: float32 weights, bfloat16 products (autocast)'},
  {key: 'optimizer', label: 'Optimizer', kind: 'select', initial: 'adamw',
    options: ['adamw', 'adamw-fused', 'adam', 'nadam', 'adafactor', 'adagrad', 'rmsprop', 'sgd-momentum', 'sgd'],
    names: {adamw: 'AdamW', 'adamw-fused': 'AdamW, fused', adam: 'Adam', nadam: 'NAdam', adafactor: 'Adafactor', adagrad: 'Adagrad',
      rmsprop: 'RMSprop', 'sgd-momentum': 'SGD with momentum', sgd: 'SGD'}},
  {key: 'checkpointing', label: 'Gradient checkpointing', kind: 'switch', options: ['off', 'on'], initial: 'off',
    help: 'each layer is computed again in backward'},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: GPUS, initial: '1'},
  {key: 'spread', label: 'Spread by', kind: 'select', options: ['fsdp2', 'ddp', 'zero2', 'zero3', 'tensor', 'pipeline'], initial: 'fsdp2',
    names: {fsdp2: 'FSDP2', ddp: 'DDP', zero2: 'DeepSpeed ZeRO 2', zero3: 'DeepSpeed ZeRO 3', tensor: 'tensor parallel', pipeline: 'pipeline'},
    when: several},
];

const TUNE: readonly Control[] = [
  {key: 'method', label: 'Method', kind: 'choice', options: ['lora', 'qlora', 'full'], initial: 'lora',
    names: {lora: 'LoRA', qlora: 'QLoRA', full: 'all weights'}, help: 'LoRA: adapters beside frozen weights; QLoRA: beside weights in 4 bits'},
  {key: 'rank', label: 'Rank', kind: 'slider', options: stops(4, 512, false), initial: '16', when: v => v.method !== 'full'},
  batch('sequences a GPU takes at a time'), sequence,
  {key: 'optim', label: 'Optimizer', kind: 'select', options: ['', 'adamw_torch', 'adamw_8bit', 'paged_adamw_8bit', 'adafactor'], initial: '',
    names: {'': "the recipe's own", adamw_torch: 'AdamW', adamw_8bit: 'AdamW, 8 bits', paged_adamw_8bit: 'AdamW, 8 bits, paged', adafactor: 'Adafactor'}},
  {key: 'checkpointing', label: 'Gradient checkpointing', kind: 'switch', options: ['off', 'on'], initial: 'on',
    help: 'each layer is computed again in backward'},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: GPUS, initial: '1'},
  {key: 'shard', label: 'Spread by', kind: 'choice', options: ['ddp', 'fsdp'], initial: 'ddp', names: {ddp: 'DDP', fsdp: 'FSDP'},
    when: v => several(v) && v.method !== 'qlora'},
];

const isServer = (v: Values): boolean => v.engine !== 'transformers';
const isBatched = (v: Values): boolean => v.engine === 'vllm' || v.engine === 'sglang';

const SERVE: readonly Control[] = [
  {key: 'engine', label: 'Engine', kind: 'select', options: ['vllm', 'sglang', 'llamacpp', 'transformers'], initial: 'vllm',
    names: {vllm: 'vLLM', sglang: 'SGLang', llamacpp: 'llama.cpp', transformers: 'transformers, generate()'}},
  {key: 'users', label: 'Users at a time', kind: 'slider', options: stops(1, 512, true), initial: '8'},
  {key: 'context', label: 'Prompt', kind: 'slider', options: TOKENS, initial: '4096', unit: 'tokens'},
  {key: 'output', label: 'Answer', kind: 'slider', options: stops(128, 16384, true), initial: '512', unit: 'tokens'},
  {key: 'quant', label: 'Weights', kind: 'select', initial: 'Q4_K_M', when: v => v.engine === 'llamacpp',
    options: ['BF16', 'Q8_0', 'Q6_K', 'Q5_K_M', 'Q4_K_M', 'IQ4_XS', 'Q3_K_M', 'Q2_K']},
  {key: 'weights', label: 'Weights', kind: 'choice', options: ['', 'fp8'], initial: '', names: {'': "the model's own"},
    when: v => v.engine === 'vllm'},
  {key: 'cache', label: 'KV cache', kind: 'choice', options: ['', 'fp8'], initial: '', names: {'': "the model's own"}, when: isBatched},
  {key: 'cache_type', label: 'KV cache', kind: 'choice', options: ['', 'q8_0', 'q4_0'], initial: '', names: {'': 'f16'},
    when: v => v.engine === 'llamacpp'},
  {key: 'gpus', label: 'GPUs', kind: 'slider', options: ['1', '2', '4', '8'], initial: '1', when: isServer},
];

export const controlsOf = (task: Task): readonly Control[] => ({train: TRAIN, tune: TUNE, serve: SERVE})[task];

/** Controls that mean something beside the others' values. */
export const shownControls = (setup: Setup): Control[] => controlsOf(setup.task).filter(c => c.when?.(setup.values) ?? true);

export const initialValues = (task: Task): Values => Object.fromEntries(controlsOf(task).map(c => [c.key, c.initial]));

export const INITIAL: Setup = {task: 'train', model: 'Qwen/Qwen3-8B', gpu: 'h100-80gb', values: initialValues('train'), more: ''};

function trainWords(v: Values): string[] {
  const words = ['--micro-batch-size', v.batch, '--sequence-length', v.sequence];
  if (v.precision !== 'bf16') words.push('--precision', v.precision);
  if (v.optimizer === 'adamw-fused') words.push('--optimizer-impl', 'fused');
  else if (v.optimizer !== 'adamw') words.push('--optimizer', v.optimizer);
  if (v.checkpointing === 'on') words.push('--gradient-checkpointing', 'full');
  if (v.gpus === '1') return words;
  const spread: Record<string, string[]> = {
    fsdp2: ['--framework', 'fsdp2', '--gpus', v.gpus, '--init-device', 'meta'], ddp: ['--framework', 'ddp', '--gpus', v.gpus],
    zero2: ['--framework', 'deepspeed', '--zero', '2', '--gpus', v.gpus], zero3: ['--framework', 'deepspeed', '--zero', '3', '--gpus', v.gpus],
    tensor: ['--framework', 'torch-tp', '--tp', v.gpus, '--max-grad-norm', 'none'], pipeline: ['--framework', 'torch-pp', '--pp', v.gpus]};
  return [...words, ...spread[v.spread]];
}

function tuneWords(v: Values): string[] {
  const words = ['--per_device_train_batch_size', v.batch, '--sequence-length', v.sequence];
  const checkpoints = ['--gradient_checkpointing', String(v.checkpointing === 'on')];
  if (v.optim) words.push('--optim', v.optim);
  if (v.gpus !== '1') words.push('--gpus', v.gpus);
  if (v.method === 'qlora')
    return ['--qlora', '--peft', `{"r": ${v.rank}, "target_modules": "all-linear"}`, ...words, ...(v.checkpointing === 'on' ? [] : checkpoints)];
  words.unshift('--framework', 'transformers', ...(v.method === 'lora' ? ['--weights', 'bf16'] : []), '--bf16', 'true');
  if (v.method === 'lora') words.push('--lora-rank', v.rank, '--lora-targets', 'all-linear');
  if (v.checkpointing === 'on') words.push(...checkpoints);
  if (v.gpus !== '1' && v.shard === 'fsdp') words.push('--fsdp', 'full_shard auto_wrap');
  return words;
}

function serveWords(v: Values): string[] {
  const words = ['--engine', v.engine];
  if (v.engine === 'transformers')
    return [...words, '--batch-size', v.users, '--prompt-length', v.context, '--max_new_tokens', v.output];
  words.push('--users', v.users, '--context', v.context, '--output', v.output);
  if (v.engine === 'llamacpp') {
    words.push('--quantize', v.quant);
    if (v.cache_type) words.push('--kv-cache-dtype', v.cache_type);
    if (v.gpus !== '1') words.push('--gpus', v.gpus);
    return words;
  }
  if (v.engine === 'vllm' && v.weights) words.push('--quantization', v.weights);
  if (v.cache) words.push('--kv-cache-dtype', v.engine === 'sglang' && v.cache === 'fp8' ? 'fp8_e4m3' : v.cache);
  if (v.gpus !== '1') words.push('--tp', v.gpus);
  return words;
}

/** Options alone: neither command nor model nor GPU. */
export function optionWords(setup: Setup): string[] {
  const words = {train: trainWords, tune: tuneWords, serve: serveWords}[setup.task](setup.values);
  return [...words, ...(shellWords(setup.more) ?? [setup.more])];
}

export const command = (task: Task): 'train' | 'serve' => (task === 'serve' ? 'serve' : 'train');

/** What one types behind `memtape`. */
export const commandWords = (setup: Setup): string[] =>
  [command(setup.task), setup.model, ...(setup.gpu ? ['--gpu', setup.gpu] : []), ...optionWords(setup)];

export const copyOf = (setup: Setup): Setup => ({...setup, values: {...setup.values}});
