// SPDX-License-Identifier: Apache-2.0
// A set-up: what the sliders say, and the words of the command line that say the same (docs/json.md, `memtape train --help`).
import {shellWords} from '../format';
import {CONTROLS, type Control, type Values} from './controls';
import {gpuWords} from './gpu';
import {WORDS} from './words';

export type {Control, Values} from './controls';
export type Task = keyof typeof CONTROLS;

export interface Setup {
  task: Task;
  model: string;
  gpu: string;   // an id, a size as one types it, or "" where the card is what is asked for
  values: Values;
  more: string;  // further options, as one types them
}

export type Question = 'fit' | 'which' | 'mine' | 'plan' | 'explain';

export const QUESTIONS: readonly {key: Question; label: string; tasks: readonly {key: Task; label: string}[]}[] = [
  {key: 'fit', label: 'Does it fit?', tasks: [{key: 'train', label: 'Train'}, {key: 'tune', label: 'Fine-tune'}, {key: 'serve', label: 'Serve'}]},
  {key: 'which', label: 'Which GPU do I need?', tasks: [{key: 'train', label: 'Train'}, {key: 'tune', label: 'Fine-tune'}, {key: 'serve', label: 'Serve'}]},
  {key: 'mine', label: 'What runs on mine?', tasks: [{key: 'mine', label: ''}]},
  {key: 'plan', label: 'What is the best way?', tasks: [{key: 'plan', label: 'Train'}, {key: 'plan-serve', label: 'Serve'}]},
  {key: 'explain', label: 'Why did it run out?', tasks: [{key: 'explain', label: ''}]},
];

const ALL_TASKS = Object.keys(CONTROLS) as Task[];
export const taskNamed = (name: string | null): Task | undefined => ALL_TASKS.find(t => t === name);

export function questionOf({task, gpu}: Setup): Question {
  if (task === 'mine' || task === 'explain' || task === 'plan') return task;
  return task === 'plan-serve' ? 'plan' : gpu ? 'fit' : 'which';
}

export const controlsOf = (task: Task): readonly Control[] => CONTROLS[task];

/** Controls that mean something beside the others' values. */
export const shownControls = (setup: Setup): Control[] => controlsOf(setup.task).filter(c => c.when?.(setup.values) ?? true);

export const initialValues = (task: Task): Values => Object.fromEntries(controlsOf(task).map(c => [c.key, c.initial]));

export const INITIAL: Setup = {task: 'train', model: 'Qwen/Qwen3-8B', gpu: 'h100-80gb', values: initialValues('train'), more: ''};

const SHARED = ['gpus', 'sequence', 'batch', 'users', 'context', 'output', 'price'];

/** The values of `task`, with those of `had` that mean the same in it. */
export function valuesFor(task: Task, had: Values): Values {
  const values = initialValues(task);
  for (const {key, kind, options} of controlsOf(task))
    if (SHARED.includes(key) && key in had && (kind === 'text' || options.includes(had[key]))) values[key] = had[key];
  return values;
}

const moreWords = (setup: Setup): string[] => shellWords(setup.more) ?? [setup.more];

/** Options alone: neither command nor model nor GPU. */
export const optionWords = (setup: Setup): string[] => [...WORDS[setup.task](setup.values), ...moreWords(setup)];

export const command = (task: Task): string => ({train: 'train', tune: 'train', serve: 'serve', mine: 'fits', plan: 'plan', 'plan-serve': 'plan', explain: 'explain'})[task];

/** What one types behind `memtape`. */
export function commandWords(setup: Setup): string[] {
  const options = optionWords(setup);
  if (setup.task === 'mine') return ['fits', ...gpuWords(setup.gpu), ...options];
  if (setup.task === 'plan') return ['plan', 'train', setup.model, ...gpuWords(setup.gpu), ...options];
  if (setup.task === 'plan-serve') return ['plan', 'serve', setup.model, '--available', `${setup.values.gpus}x${setup.gpu}`, ...options];
  if (setup.task === 'explain') return ['explain'];
  return [command(setup.task), setup.model, ...gpuWords(setup.gpu), ...options];
}

export const copyOf = (setup: Setup): Setup => ({...setup, values: {...setup.values}});
