// SPDX-License-Identifier: Apache-2.0
// documents.mjs OUTPUT: the README and docs/ as pages beside the page, in its own colours. Prints what is at the foot of the page.
import {mkdir, readFile, readdir, writeFile} from 'node:fs/promises';
import {basename, dirname, join, normalize} from 'node:path';
import {marked} from 'marked';

const [output] = process.argv.slice(2);
const root = new URL('../../', import.meta.url).pathname;
const AT_THE_FOOT = ['README.md', 'docs/accuracy.md', 'docs/field.md', 'docs/explain.md', 'docs/json.md', 'docs/options.md'];
const style = (await readFile(join(root, 'web/src/app.css'), 'utf8')).split('\n').filter(line => !/^(\.segments|input|select)/.test(line)).join('\n');
const sources = ['README.md', 'LICENSE', ...(await readdir(join(root, 'docs'))).filter(name => name.endsWith('.md')).map(name => `docs/${name}`)];
const pageOf = path => `${basename(path).replace(/\.md$/, '')}.html`;

/** A link between documents; of another file of the repository its name alone. */
function linked(markdown, from) {
  return markdown.replace(/\]\(([^)\s#:]+)(#[^)\s]*)?\)/g, (whole, path, place = '') => {
    const target = normalize(join(dirname(from), path));
    return sources.includes(target) ? `](./${pageOf(target)}${place})` : '](#)';
  });
}

const head = (title, body) => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title>
<link rel="icon" href="../icon.svg" type="image/svg+xml"><link rel="stylesheet" href="./document.css">
<script>document.documentElement.dataset.theme = localStorage.getItem('theme') ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');</script></head>
<body><nav><a href="../">memtape</a></nav><main>${body}</main></body></html>
`;

await mkdir(output, {recursive: true});
await writeFile(join(output, 'document.css'), `${style}
nav, main { max-width: 900px; margin: 0 auto; padding: 16px 20px; }
main { padding-bottom: 60px; overflow-wrap: anywhere; }
main :is(h1, h2, h3) { margin: 1.5em 0 0.5em; }
main :is(p, ul, ol, pre) { margin: 0 0 0.9em; }
main pre { overflow-x: auto; white-space: pre; user-select: text; }
main code { font-family: ui-monospace, Menlo, "DejaVu Sans Mono", monospace; font-size: 0.88em; }
main a[href='#'] { color: inherit; text-decoration: none; pointer-events: none; }
main table { display: block; overflow-x: auto; margin-bottom: 1em; }
`);
const titles = [];
for (const path of sources) {
  const text = await readFile(join(root, path), 'utf8');
  const title = /^# (.+)$/m.exec(text)?.[1].replaceAll('`', '') ?? path;
  const body = path === 'LICENSE' ? `<pre>${text.replaceAll('<', '&lt;')}</pre>` : marked.parse(linked(text.replace(/<!--.*?-->|<picture>.*?<\/picture>|!\[[^\]]*\]\([^)]*\)/gs, ''), path));
  await writeFile(join(output, pageOf(path)), head(title, body));
  if (AT_THE_FOOT.includes(path)) titles.push({path, file: pageOf(path), title: path === 'README.md' ? 'What it is' : title});
}
const shown = AT_THE_FOOT.map(path => titles.find(t => t.path === path)).filter(Boolean).map(({file, title}) => ({file, title}));
console.log(JSON.stringify([...shown, {file: 'LICENSE.html', title: 'Licence'}]));
