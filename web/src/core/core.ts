// SPDX-License-Identifier: Apache-2.0
// The core: memtape's library as a WebAssembly module (bindings/wasm). A request is JSON and files by name, the answer the text that
// the command line prints with --json. After a failure of the module itself (memory, a bug) it is made anew for the next request.
import {wasiImports} from './wasi';

export interface HandedFile {
  name: string;
  bytes: Uint8Array;
  size: number;  // of the whole file, of which `bytes` is the beginning
}

export interface CoreAnswer {
  text: string;
  exitCode: number;
}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  memtape_web_take(size: number): number;
  memtape_web_file(name: number, nameSize: number, bytes: number, bytesSize: number, size: number): void;
  memtape_web_answer(request: number, size: number): number;
  memtape_web_text(): number;
  memtape_web_text_size(): number;
}

export class Core {
  private exports: Exports | null = null;

  constructor(private readonly module: WebAssembly.Module) {}

  answer(request: string, files: readonly HandedFile[] = []): CoreAnswer {
    try {
      return this.ask(request, files);
    } catch (error) {
      this.exports = null;
      throw error;
    }
  }

  private instance(): Exports {
    if (this.exports) return this.exports;
    let exports: Exports | null = null;
    const instance = new WebAssembly.Instance(this.module, wasiImports(this.module, () => exports!.memory));
    exports = instance.exports as unknown as Exports;
    exports._initialize();
    return (this.exports = exports);
  }

  private ask(request: string, files: readonly HandedFile[]): CoreAnswer {
    const core = this.instance();
    const give = (bytes: Uint8Array): [number, number] => {
      const at = core.memtape_web_take(bytes.length);
      new Uint8Array(core.memory.buffer, at, bytes.length).set(bytes);
      return [at, bytes.length];
    };
    const encoder = new TextEncoder();
    for (const file of files)
      core.memtape_web_file(...give(encoder.encode(file.name)), ...give(file.bytes), file.size);
    const exitCode = core.memtape_web_answer(...give(encoder.encode(request)));
    const text = new Uint8Array(core.memory.buffer, core.memtape_web_text(), core.memtape_web_text_size());
    return {text: new TextDecoder().decode(text), exitCode};
  }
}
