// SPDX-License-Identifier: Apache-2.0
// Files that stand beside a request: dropped ones, of which only as much is read as the core asks for, and configurations from the
// hub. Nothing is sent anywhere.
import type {Refusal} from '../answer';
import type {HandedFile} from '../core/core';

const FIRST = 2 ** 20;         // bytes of a dropped file that are read at once: most headers are shorter
const LARGEST = 2 ** 28;       // of a header
const LARGEST_CONFIG = 2 ** 24;
const HUB = 'https://huggingface.co';

const ENDINGS = ['.json', '.safetensors', '.gguf'];
const OF_A_RUN = /\.(pickle|pkl|txt|log|out|err|jsonl)(\.gz)?$/i;  // a snapshot, a trace, a log, a message
const LARGEST_OF_A_RUN = 2 ** 29;

export class Files {
  private readonly dropped = new Map<string, File>();
  private readonly handed = new Map<string, HandedFile>();

  all(): HandedFile[] {
    return [...this.handed.values()];
  }

  has(name: string): boolean {
    return this.handed.has(name);
  }

  /** Takes what was dropped; the name of the model among it, or why there is none. */
  async drop(files: readonly File[]): Promise<{model: string} | {evidence: string[]} | Refusal> {
    if (files.length > 0 && files.every(f => OF_A_RUN.test(f.name))) return this.dropEvidence(files);
    const usable = files.filter(f => ENDINGS.some(e => f.name.toLowerCase().endsWith(e)));
    if (usable.length === 0)
      return {what: 'is no file of a model or a run', where: files[0]?.name ?? 'the drop', hint: 'a config.json, .safetensors or .gguf file; of a run a .pickle, .log or .txt'};
    this.dropped.clear();
    this.handed.clear();
    for (const file of usable) {
      this.dropped.set(file.name, file);
      await this.read(file.name, file.name.endsWith('.json') ? Math.min(file.size, LARGEST_CONFIG) : FIRST);
    }
    const rank = (name: string): number => ENDINGS.findIndex(e => name.endsWith(e)) + (name.endsWith('.index.json') ? -1 : 0);
    return {model: usable.map(f => f.name).reduce((a, b) => (rank(b) > rank(a) ? b : a))};
  }

  private async dropEvidence(files: readonly File[]): Promise<{evidence: string[]} | Refusal> {
    this.dropped.clear();
    this.handed.clear();
    for (const file of files) {
      if (file.size > LARGEST_OF_A_RUN) return {what: 'is too large for a page', where: file.name, hint: `memtape explain ${file.name}`};
      const stream = /\.gz$/i.test(file.name) ? file.stream().pipeThrough(new DecompressionStream('gzip')) : file.stream();
      try {
        const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
        this.handed.set(file.name, {name: file.name, bytes, size: bytes.length});
      } catch {
        return {what: 'is no complete gzip file', where: file.name, hint: ''};
      }
    }
    return {evidence: files.map(f => f.name)};
  }

  /** Brings what an answer wanted. False: there is nothing more to bring; a text: why it cannot be had. */
  async bring(wanted: readonly {name: string; bytes: number}[], model: string): Promise<boolean | string> {
    for (const {name, bytes} of wanted) {
      if (this.dropped.has(name)) {
        const had = this.handed.get(name)?.bytes.length ?? 0;
        if (bytes <= had || bytes > LARGEST) return false;
        await this.read(name, Math.min(LARGEST, Math.max(bytes, 2 * had)));
        return true;
      }
      if (name === `${model}/config.json` && /^[\w.-]+\/[\w.-]+$/.test(model) && !this.handed.has(name)) return this.fetch(name, model);
    }
    return false;
  }

  private async read(name: string, count: number): Promise<void> {
    const file = this.dropped.get(name)!;
    const bytes = new Uint8Array(await file.slice(0, count).arrayBuffer());
    this.handed.set(name, {name, bytes, size: file.size});
  }

  private async fetch(name: string, model: string): Promise<boolean | string> {
    const address = `${HUB}/${model}/resolve/main/config.json`;
    let response: Response;
    try {
      response = await fetch(address, {credentials: 'omit', referrerPolicy: 'no-referrer'});
    } catch {
      return `${HUB} cannot be reached from here; drop the model's config.json instead`;
    }
    if (response.status === 401 || response.status === 403) return 'the hub shows this model to its members alone; drop its config.json';
    if (!response.ok) return response.status === 404 ? 'neither in the catalog nor on the hub' : `the hub answers ${response.status}`;
    const bytes = new Uint8Array(await response.arrayBuffer());
    if (bytes.length > LARGEST_CONFIG) return 'its config.json is larger than any';
    this.handed.set(name, {name, bytes, size: bytes.length});
    return true;
  }
}
