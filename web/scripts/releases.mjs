// SPDX-License-Identifier: Apache-2.0
// releases.mjs: the releases that the page suggests, from docs/releases.md, the newest first: the pairs of torch and transformers whose
// steps were recorded, and of each engine the releases since which something is otherwise.
import {readFile} from 'node:fs/promises';

const ENGINES = ['vllm', 'sglang'];
const numbers = version => version.split('.').map(Number);

function newestFirst(versions) {
  return [...new Set(versions)].sort((a, b) => {
    const [of_a, of_b] = [numbers(a), numbers(b)];
    const at = of_a.findIndex((n, i) => n !== of_b[i]);
    return at < 0 ? 0 : (of_b[at] ?? 0) - of_a[at];
  });
}

/** {torch: [...], vllm: [...], sglang: [...]}: texts as --with takes them. */
export async function knownReleases() {
  const page = await readFile(new URL('../../docs/releases.md', import.meta.url), 'utf8');
  const known = {torch: [...page.matchAll(/^\| (\d\S*) \| (\d\S*) \| +\d+ \|/gm)].reverse().map(([, torch, transformers]) => `torch==${torch},transformers==${transformers}`)};
  for (const engine of ENGINES) {
    const [, table] = new RegExp(`^### ${engine}\\n([^#]*)`, 'm').exec(page);
    known[engine] = newestFirst([...table.matchAll(/^\| (\d\S*) \|/gm)].map(([, since]) => since)).map(since => `${engine}==${since}`);
  }
  for (const [name, releases] of Object.entries(known)) if (releases.length === 0) throw new Error(`docs/releases.md has no releases of ${name}`);
  return known;
}
