// SPDX-License-Identifier: Apache-2.0
// The page's own loader of the module (src/core), for node, which reads no TypeScript.
import {mkdtemp, readFile, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import ts from 'typescript';

async function loader() {
  const folder = await mkdtemp(join(tmpdir(), 'memtape-'));
  for (const name of ['wasi', 'core']) {
    const text = await readFile(new URL(`../src/core/${name}.ts`, import.meta.url), 'utf8');
    const {outputText} = ts.transpileModule(text, {compilerOptions: {target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext}});
    await writeFile(join(folder, `${name}.mjs`), outputText.replaceAll(`'./wasi'`, `'./wasi.mjs'`));
  }
  return import(join(folder, 'core.mjs'));
}

export async function loadCore(path) {
  const {Core} = await loader();
  return new Core(await WebAssembly.compile(await readFile(path)));
}
