// SPDX-License-Identifier: Apache-2.0
// A set-up as the part of an address behind #, which no server sees: #task=train&model=Qwen/Qwen3-8B&batch=4. What has its initial
// value is left out. A second set-up, the one that is compared with, stands behind the first with "vs." before its names.
import {INITIAL, type Setup, controlsOf, initialValues, taskNamed} from './setup';

const SECOND = 'vs.';
const LONGEST = 2000;  // of one value, in characters

function parameters(setup: Setup, prefix: string): string[] {
  const pairs: [string, string][] = [['task', setup.task], ['model', setup.model], ['gpu', setup.gpu]];
  for (const control of controlsOf(setup.task))
    if (setup.values[control.key] !== control.initial) pairs.push([control.key, setup.values[control.key]]);
  if (setup.more) pairs.push(['more', setup.more]);
  const text = (value: string): string => encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%20', '+');
  return pairs.map(([key, value]) => `${prefix}${key}=${text(value)}`);
}

export function addressOf(setup: Setup, second: Setup | null): string {
  return '#' + [...parameters(setup, ''), ...(second ? parameters(second, SECOND) : [])].join('&');
}

function setupOf(said: URLSearchParams, prefix: string): Setup | null {
  const value = (key: string): string | null => {
    const text = said.get(prefix + key);
    return text !== null && text.length <= LONGEST ? text : null;
  };
  const task = taskNamed(value('task'));
  if (!task) return null;
  const values = initialValues(task);
  for (const control of controlsOf(task)) {
    const text = value(control.key);
    if (text !== null && (control.kind === 'text' || control.options.includes(text))) values[control.key] = text;
  }
  return {task, model: value('model') || INITIAL.model, gpu: value('gpu') ?? INITIAL.gpu, values, more: value('more') ?? ''};
}

/** What an address says; what it does not say, or says wrongly, is as it is at first. */
export function setupsOf(address: string): {setup: Setup | null; second: Setup | null} {
  const said = new URLSearchParams(address.replace(/^#/, ''));
  return {setup: setupOf(said, ''), second: setupOf(said, SECOND)};
}
