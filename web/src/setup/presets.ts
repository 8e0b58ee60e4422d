// SPDX-License-Identifier: Apache-2.0
// Worked examples to begin with, each with what is said of it elsewhere.
import {type Setup, type Task, type Values, initialValues} from './setup';

export interface Preset {
  title: string;
  setup: Setup;
  from?: string;
  said?: string;
  link?: string;
}

const setup = (task: Task, model: string, gpu: string, values: Values): Setup =>
  ({task, model, gpu, values: {...initialValues(task), ...values}, more: ''});

export const PRESETS: readonly Preset[] = [
  {title: 'All of an 8B on one H100', setup: setup('train', 'meta-llama/Llama-3.1-8B', 'h100-80gb', {}),
    from: 'The ZeRO paper', said: '16 bytes a parameter for weights, gradients and Adam in mixed precision: 120 GiB here.',
    link: 'https://arxiv.org/abs/1910.02054'},
  {title: 'LoRA of an 8B, batch 4', setup: setup('tune', 'meta-llama/Llama-3.1-8B', 'rtx-4090', {batch: '4'})},
  {title: 'QLoRA on 16 GB', setup: setup('tune', 'meta-llama/Llama-3.1-8B', 'rtx-4060-ti-16gb', {method: 'qlora'})},
  {title: '70B over 16 H100s', setup: setup('train', 'meta-llama/Llama-3.1-70B', 'h100-80gb',
    {gpus: '16', sequence: '4096', checkpointing: 'on', optimizer: 'adamw-fused'})},
  {title: '32B for 48 users', setup: setup('serve', 'Qwen/Qwen3-32B', 'h100-80gb', {users: '48', context: '8192', gpus: '2'})},
  {title: '32B in 4 bits on a 4090', setup: setup('serve', 'Qwen/Qwen3-32B', 'rtx-4090', {engine: 'llamacpp', users: '1', context: '8192'})},
  {title: 'GPT-2 in fp32', setup: setup('train', 'openai-community/gpt2', 't4', {precision: 'fp32', batch: '8', sequence: '1024'})},
];
