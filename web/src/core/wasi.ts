// SPDX-License-Identifier: Apache-2.0
// What a module for WASI asks of its system, as far as memtape's does: it reads no files, has no arguments and no variables, and
// writes only when it gives up. A call that is not here answers "not supported".
const SUCCESS = 0, BAD_DESCRIPTOR = 8, NOT_SUPPORTED = 52;
const NANOSECONDS = 1e6;  // in a millisecond

export class Exit extends Error {}

export function wasiImports(module: WebAssembly.Module, memory: () => WebAssembly.Memory): WebAssembly.Imports {
  let said = '';
  const view = (): DataView => new DataView(memory().buffer);
  const known: Record<string, (...args: number[]) => number> = {
    fd_write(_descriptor, vectors, count, written) {
      let total = 0;
      for (let i = 0; i < count; ++i) {
        const at = view().getUint32(vectors + 8 * i, true), size = view().getUint32(vectors + 8 * i + 4, true);
        said += new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
        total += size;
      }
      view().setUint32(written, total, true);
      return SUCCESS;
    },
    fd_prestat_get: () => BAD_DESCRIPTOR,
    fd_close: () => SUCCESS,
    environ_sizes_get(count, size) {
      view().setUint32(count, 0, true);
      view().setUint32(size, 0, true);
      return SUCCESS;
    },
    environ_get: () => SUCCESS,
    random_get(at, size) {
      new Uint8Array(memory().buffer, at, size).fill(0);  // same input, same bytes out
      return SUCCESS;
    },
    proc_exit(code) {
      throw new Exit(`the core stopped with ${code} ${said.slice(-400)}`);
    },
  };
  known.clock_time_get = (_clock, _low, _high, into) => {
    view().setBigUint64(into, BigInt(Math.round(performance.now() * NANOSECONDS)), true);
    return SUCCESS;
  };
  const imports: WebAssembly.Imports = {};
  for (const {module: from, name, kind} of WebAssembly.Module.imports(module))
    if (kind === 'function') (imports[from] ??= {})[name] = known[name] ?? (() => NOT_SUPPORTED);
  return imports;
}
