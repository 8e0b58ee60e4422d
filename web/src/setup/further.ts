// SPDX-License-Identifier: Apache-2.0
// Questions beside a set-up's own: the same on every card, and how fast it is.
import type {Plan, Plans, Refusal} from '../answer';
import type {Catalog} from '../model/catalog';
import {sizeOf} from './gpu';
import {type Setup, command, commandWords} from './setup';

/** Behind the words of a set-up without a card. */
export function compareWords(setup: Setup, catalog: Catalog | null): string[] {
  const cuda = (catalog?.gpus ?? []).filter(g => g.vendor === 'NVIDIA').map(g => g.id);
  return command(setup.task) === 'train' ? ['--compare', cuda.join(',')] : ['--compare'];
}

const sharded = ['zero2', 'zero3', 'fsdp2', 'ddp'];

function trainSpeed(setup: Setup): string[] | string {
  const {values: v, task} = setup;
  const several = Number(v.gpus) > 1;
  if (task === 'train' && several && !sharded.includes(v.spread)) return 'the time of a step is known for data-parallel layouts';
  const words = commandWords(setup).slice(1);
  const pinned = task === 'tune' ? [] : [
    ...(words.includes('--framework') ? [] : ['--framework', 'torch']),
    ...(words.includes('--precision') ? [] : ['--precision', 'bf16']),
    ...(words.includes('--gradient-checkpointing') ? [] : ['--gradient-checkpointing', 'none']),
    ...(words.includes('--optimizer-impl') || v.optimizer !== 'adamw' || /^zero/.test(v.spread) && several ? [] : ['--optimizer-impl', 'foreach']),
    ...(several && v.spread === 'fsdp2' ? ['--strategy', '{"reshard_after_forward": true}'] : []),
    ...(several && /^zero/.test(v.spread) && v.offload === 'none' ? ['--offload', 'none'] : [])];
  return ['plan', 'train', ...words, ...pinned, ...(words.includes('--gpus') ? [] : ['--gpus', '1']),
    '--global-batch-size', String(Number(v.batch) * Number(v.gpus)), '--top', '1', ...(v.price ? ['--price', v.price] : [])];
}

/** The plan of this one layout; or why there is none. */
export function speedWords(setup: Setup): string[] | string {
  if (sizeOf(setup.gpu) || !setup.gpu) return 'the time depends on the card, not on its size alone';
  if (setup.task !== 'serve') return trainSpeed(setup);
  const v = setup.values;
  if (v.engine !== 'vllm' && v.engine !== 'sglang') return 'the time of tokens is known for vLLM and SGLang';
  if (v.weights || v.host !== '0') return 'the time of tokens is known for weights as they are, on the GPU';
  return ['plan', 'serve', setup.model, '--available', `${v.gpus}x${setup.gpu}`, '--users', v.users, '--context', v.context, '--output', v.output,
    '--engine', v.engine, ...(v.price ? ['--price', v.price] : [])];
}

export function speedOf(plans: Plans, setup: Setup): Plan | Refusal {
  const same = setup.task === 'serve' ? plans.plans.filter(p => p.gpus === Number(setup.values.gpus)) : plans.plans;
  return same[0] ?? plans.plans[0] ?? {what: 'so many users do not fit at a time', where: '', hint: ''};
}
