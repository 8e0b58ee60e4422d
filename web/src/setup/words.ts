// SPDX-License-Identifier: Apache-2.0
// The words of the command line that say what the controls of a task say.
import {type Task} from './setup';
import type {Values} from './controls';

function trainWords(v: Values): string[] {
  const words = ['--micro-batch-size', v.batch, '--sequence-length', v.sequence];
  if (v.precision !== 'bf16') words.push('--precision', v.precision);
  if (v.optimizer === 'adamw-fused') words.push('--optimizer-impl', 'fused');
  else if (v.optimizer !== 'adamw') words.push('--optimizer', v.optimizer);
  if (v.checkpointing === 'on') words.push('--gradient-checkpointing', 'full');
  if (v.with) words.push('--with', v.with);
  if (v.gpus === '1') return words;
  const spread: Record<string, string[]> = {
    fsdp2: ['--framework', 'fsdp2', '--gpus', v.gpus, '--init-device', 'meta'], ddp: ['--framework', 'ddp', '--gpus', v.gpus],
    zero2: ['--framework', 'deepspeed', '--zero', '2', '--gpus', v.gpus], zero3: ['--framework', 'deepspeed', '--zero', '3', '--gpus', v.gpus],
    tensor: ['--framework', 'torch-tp', '--tp', v.gpus, '--max-grad-norm', 'none'], pipeline: ['--framework', 'torch-pp', '--pp', v.gpus]};
  const offload = /^zero/.test(v.spread) && v.offload !== 'none' ? ['--offload', v.offload] : [];
  return [...words, ...spread[v.spread], ...offload];
}

function tuneWords(v: Values): string[] {
  const words = ['--per_device_train_batch_size', v.batch, '--sequence-length', v.sequence];
  const checkpoints = ['--gradient_checkpointing', String(v.checkpointing === 'on')];
  if (v.optim) words.push('--optim', v.optim);
  if (v.gpus !== '1') words.push('--gpus', v.gpus);
  if (v.with) words.push('--with', v.with);
  if (v.method === 'qlora')
    return ['--qlora', '--peft', `{"r": ${v.rank}, "target_modules": "all-linear"}`, ...words, ...(v.checkpointing === 'on' ? [] : checkpoints)];
  words.unshift('--framework', 'transformers', ...(v.method === 'lora' ? ['--weights', 'bf16'] : []), '--bf16', 'true');
  if (v.method === 'lora') words.push('--lora-rank', v.rank, '--lora-targets', 'all-linear');
  if (v.checkpointing === 'on') words.push(...checkpoints);
  if (v.gpus !== '1' && v.shard === 'fsdp') words.push('--fsdp', 'full_shard auto_wrap');
  return words;
}

/** What a checkpoint of such weights says of itself, which the engine is told beside one that says nothing. */
const ROUNDED: Record<string, object> = {
  awq: {quant_method: 'awq', bits: 4, group_size: 128, zero_point: true},
  gptq: {quant_method: 'gptq', bits: 4, group_size: 128, desc_act: false, sym: true},
  gptq8: {quant_method: 'gptq', bits: 8, group_size: 128, desc_act: false, sym: true},
};

function batchedWords(v: Values): string[] {
  const words: string[] = [];
  if (v.weights === 'fp8') words.push('--quantization', 'fp8');
  else if (v.weights in ROUNDED)
    words.push(v.engine === 'vllm' ? '--hf-overrides' : '--json-model-override-args', JSON.stringify({quantization_config: ROUNDED[v.weights]}));
  if (v.cache) words.push('--kv-cache-dtype', v.engine === 'sglang' && v.cache === 'fp8' ? 'fp8_e4m3' : v.cache);
  if (v.host !== '0') words.push('--cpu-offload-gb', v.host);
  if (v.gpus !== '1') words.push('--tp', v.gpus);
  if (v.with) words.push('--with', v.with);
  return words;
}

function serveWords(v: Values): string[] {
  const words = ['--engine', v.engine];
  if (v.engine === 'transformers')
    return [...words, '--batch-size', v.users, '--prompt-length', v.context, '--max_new_tokens', v.output];
  words.push('--users', v.users, '--context', v.context, '--output', v.output);
  if (v.engine !== 'llamacpp') return [...words, ...batchedWords(v)];
  words.push('--quantize', v.quant);
  if (v.cache_type) words.push('--kv-cache-dtype', v.cache_type);
  if (v.layers !== 'all') words.push('--n-gpu-layers', v.layers);
  if (v.gpus !== '1') words.push('--gpus', v.gpus);
  return words;
}

function mineWords(v: Values): string[] {
  const size = v.size ? ['--size', v.size] : [];
  if (v.purpose === 'train') return ['--task', 'train', '--sequence-length', v.sequence, ...(v.method ? ['--method', v.method] : []), ...size];
  return ['--context', v.context, ...(v.host === '0' ? [] : ['--host-memory', `${v.host}GiB`]), ...size];
}

const priceWords = (v: Values): string[] => (v.price ? ['--price', v.price] : []);

const planWords = (v: Values): string[] =>
  ['--gpus', v.gpus, '--sequence-length', v.sequence, '--global-batch-size', v.global, ...(v.method === 'full' ? [] : ['--method', v.method]),
    ...(v.objective === 'throughput' ? [] : ['--objective', v.objective]), ...priceWords(v)];

const planServeWords = (v: Values): string[] =>
  ['--users', v.users, '--context', v.context, '--output', v.output, '--engine', v.engine, ...(v.rounding ? ['--allow-quantize', v.rounding] : []),
    ...priceWords(v)];

export const WORDS: Record<Task, (v: Values) => string[]> = {
  train: trainWords, tune: tuneWords, serve: serveWords, mine: mineWords, plan: planWords, 'plan-serve': planServeWords, explain: () => []};
