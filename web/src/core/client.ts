// SPDX-License-Identifier: Apache-2.0
// Questions to the core, one at a time. Of several that wait under the same name only the last is asked: while a slider moves, what
// it was a moment ago interests nobody any more.
import type {Refusal} from '../answer';
import type {HandedFile} from './core';
import type {Question, Reply} from './worker';

export interface Outcome {
  text: string;
  exitCode: number;
  milliseconds: number;
}

interface Waiting {
  name: string;
  request: object;
  files: HandedFile[];
  resolve: (outcome: Outcome | null) => void;
  reject: (error: Error) => void;
}

export class Client {
  private readonly worker = new Worker(new URL('./worker.ts', import.meta.url), {type: 'module'});
  private queue: Waiting[] = [];
  private asked: (Waiting & {id: number}) | null = null;
  private last = 0;
  readonly ready: Promise<void>;

  constructor(address: string) {
    let done: () => void, failed: (error: Error) => void;
    this.ready = new Promise((resolve, reject) => { done = resolve; failed = reject; });
    this.worker.onmessage = ({data}: MessageEvent<Reply>) => {
      if (data.id === 0) return data.broken ? failed(new Error(data.broken)) : done();
      this.take(data);
    };
    this.worker.onerror = event => failed(new Error(event.message));
    this.worker.postMessage({load: address});
  }

  /** The answer; null when a later question of this name took its place. */
  ask(name: string, request: object, files: HandedFile[] = []): Promise<Outcome | null> {
    return new Promise((resolve, reject) => {
      this.queue = this.queue.filter(w => {
        if (w.name === name) w.resolve(null);
        return w.name !== name;
      });
      this.queue.push({name, request, files, resolve, reject});
      this.next();
    });
  }

  /** Takes back what waits under these names. */
  drop(...names: string[]): void {
    this.queue = this.queue.filter(w => {
      if (names.includes(w.name)) w.resolve(null);
      return !names.includes(w.name);
    });
  }

  private next(): void {
    if (this.asked || this.queue.length === 0) return;
    const waiting = this.queue.shift()!;
    this.asked = {...waiting, id: ++this.last};
    const question: Question = {id: this.last, request: JSON.stringify(waiting.request), files: waiting.files};
    this.worker.postMessage(question);
  }

  private take(reply: Reply): void {
    const asked = this.asked;
    if (!asked || reply.id !== asked.id) return;
    this.asked = null;
    if (reply.broken !== undefined) asked.reject(new Error(reply.broken));
    else asked.resolve({text: reply.text!, exitCode: reply.exitCode!, milliseconds: reply.milliseconds!});
    this.next();
  }
}

/** What an answer refuses, and which files would help. */
export interface Refused {
  error: Refusal;
  wanted?: {name: string; bytes: number}[];
}

export const isRefused = (answer: object): answer is Refused => 'error' in answer;
