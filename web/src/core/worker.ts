// SPDX-License-Identifier: Apache-2.0
// The core in a worker of its own, so that the page stays awake while it computes.
import {Core, type HandedFile} from './core';

export interface Question {
  id: number;
  request: string;
  files: HandedFile[];
}

export interface Reply {
  id: number;
  text?: string;
  exitCode?: number;
  milliseconds?: number;
  broken?: string;  // why the core itself gave up
}

let core: Promise<Core> | null = null;

async function load(address: string): Promise<Core> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`${address}: ${response.status} ${response.statusText}`);
  const typed = response.headers.get('content-type')?.startsWith('application/wasm');
  return new Core(await (typed ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer())));
}

self.onmessage = async ({data}: MessageEvent<Question | {load: string}>) => {
  if ('load' in data) {
    core = load(data.load);
    return core.then(() => self.postMessage({id: 0}), error => self.postMessage({id: 0, broken: String(error)}));
  }
  const {id, request, files} = data;
  try {
    const ready = await core!;
    const start = performance.now();
    const {text, exitCode} = ready.answer(request, files);
    self.postMessage({id, text, exitCode, milliseconds: performance.now() - start});
  } catch (error) {
    self.postMessage({id, broken: String(error)});
  }
};
