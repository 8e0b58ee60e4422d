// SPDX-License-Identifier: Apache-2.0
// The page of a server: what stands in the answer's JSON (docs/json.md), drawn. `data` is written by src/report/serve_html.cpp.
const {answer, arithmetic} = data;
const count = number => number.toLocaleString('en-US');

// What a category is to the one who runs the server, in the order of the bar.
const PARTS = {parameter: 'weights', buffer: 'buffers', kv_cache: 'KV cache', activation: 'activation peak', temporary: 'temporaries',
  input: 'inputs', workspace: 'workspaces', cuda_graph: 'CUDA graphs', communication: 'communication', context: 'outside the allocator',
  unknown: 'kept by the allocator'};
const partsOf = rank => [...new Set([...Object.keys(PARTS), ...Object.keys(rank.at_peak)])]
  .filter(category => rank.at_peak[category] > 0).map(category => [category, PARTS[category] || category, rank.at_peak[category]]);

function table(id, head, rows) {
  const row = (cells, tag) => element('tr', {}, ...cells.map((cell, i) => element(tag, i ? {class: 'number'} : {}, ...[cell].flat())));
  byId(id).append(row(head, 'th'), ...rows.map(cells => row(cells, 'td')));
}

const hideWithout = (id, something) => { byId(id).hidden = !something; };

// ---- the answer ----------------------------------------------------------------------------------------------------

const fullest = answer.ranks.reduce((a, b) => (a && a.peak_device_bytes >= b.peak_device_bytes ? a : b), null);

byId('model').textContent = answer.model.id;
document.title = `${answer.model.id} · memtape`;
byId('settings').textContent = [answer.engine, ...[answer.workload, answer.mesh].flatMap(settings => Object.entries(settings))
  .filter(([, value]) => value !== null && value !== false && typeof value !== 'object')
  .map(([name, value]) => `${name} ${value}`)].slice(0, 40).map(part => (Array.isArray(part) ? part.join(' ') : part)).join(' · ');

if (fullest) {
  const failsInLoading = answer.load_verdict === 'does not fit';
  const word = failsInLoading ? 'does not fit while loading' : answer.verdict || 'fits';
  byId('verdict').append(element('b', {}, bytesText(failsInLoading ? answer.load_peak_bytes : fullest.peak_device_bytes)));
  if (answer.device)
    byId('verdict').append(element('p', {}, `of ${bytesText(answer.device.total_bytes)} on ${answer.device.name}: `,
      element('span', {class: 'word ' + (word === 'fits' ? 'good' : 'bad')}, word)));
}

const {low_bytes: low, high_bytes: high, causes, has_upper_end: isBounded = true} = answer.bounds;
const range = isBounded ? `Between ${bytesText(low)} and ${bytesText(high)}` : `At least ${bytesText(low)}, and no upper end is known`;
showAdvice([
  ...[answer.failure || answer.doubt].filter(Boolean).map(reason => element('p', {class: 'reason'}, reason)),
  ...(low !== high || !isBounded ? [element('p', {}, `${range}: ${causes.join('; ')}.`)] : []),
  ...(answer.nothing_helps ? [element('p', {}, answer.nothing_helps)] : []),
], answer.advice.map(a => ({peak: a.peak_device_bytes, cost: a.cost, command: a.command || a.change})));

// ---- a bar for each rank -------------------------------------------------------------------------------------------

function bar(rank, whole) {
  const node = element('div', {class: 'device-bar'});
  for (const [category, words, bytes] of partsOf(rank))
    node.append(element('i', {style: `width:${100 * bytes / whole}%;background:var(--${category})`,
      title: `${words}: ${bytesText(bytes)} (${exact(bytes)})`}));
  return node;
}

const seen = new Map();
for (const rank of answer.ranks) {
  const total = answer.device ? answer.device.total_bytes : rank.peak_device_bytes;
  const free = total - rank.peak_device_bytes;
  const names = rank.ranks.length > 1 ? `ranks ${rank.ranks[0]} to ${rank.ranks[rank.ranks.length - 1]}` : `rank ${rank.ranks[0] ?? 0}`;
  byId('ranks').append(element('div', {class: 'rank'},
    element('div', {class: 'head'}, element('span', {}, names),
      element('span', {class: free < 0 ? 'number bad' : 'number'}, `${bytesText(rank.peak_device_bytes)}, `
        + (free < 0 ? `${bytesText(-free)} too much` : `${bytesText(free)} free`))),
    bar(rank, Math.max(total, rank.peak_device_bytes))));
  for (const [category, words] of partsOf(rank)) seen.set(category, words);
}
byId('key').append(...[...seen].map(([category, words]) => element('li', {}, swatch(category), ' ' + words)),
  ...(answer.device ? [element('li', {}, element('span', {class: 'swatch', style: 'background:var(--line)'}), ' free')] : []));

// ---- what the fullest holds ----------------------------------------------------------------------------------------

if (fullest) {
  table('parts', ['', 'size', 'bytes'], [...partsOf(fullest).map(([category, words, bytes]) =>
    [[swatch(category), words], bytesText(bytes), exact(bytes)]), ['in all', bytesText(fullest.peak_device_bytes), exact(fullest.peak_device_bytes)],
  ...(fullest.load_peak_bytes ? [['while loading', bytesText(fullest.load_peak_bytes), exact(fullest.load_peak_bytes)]] : [])]);
  const cache = fullest.kv_cache;
  table('cache', ['layers', 'how many', 'tokens', 'per token', 'size'], cache.layers.map(group =>
    [group.kind, count(group.layers), group.tokens ? count(group.tokens) : '', group.bytes_per_token ? exact(group.bytes_per_token) : '',
      bytesText(group.bytes)]));
  const says = [`${bytesText(cache.bytes)} hold ${count(cache.tokens)} tokens`];
  if (cache.num_blocks) says.push(`in ${count(cache.num_blocks)} blocks of ${cache.block_size}`);
  if (cache.bytes_per_token) says.push(`${exact(cache.bytes_per_token)} a token`);
  if (cache.max_concurrency) says.push(`${cache.max_concurrency.toFixed(2)} requests of the full context at a time`);
  byId('capacity').textContent = says.join(', ');
  byId('arithmetic').append(...arithmetic.map(line => element('li', {}, line)));
  hideWithout('cache-card', cache.tokens || cache.layers.length);
}
hideWithout('parts-card', fullest);

const buffers = Object.entries(answer.buffers || {});
table('buffers', ['', 'model', 'context', 'compute'], buffers.map(([name, b]) =>
  [name, bytesText(b.model_bytes), bytesText(b.context_bytes), bytesText(b.compute_bytes)]));
hideWithout('buffers-card', buffers.length);

const notes = [...answer.notes, ...answer.warnings];
byId('notes').append(...notes.map(note => element('li', {}, note)));
hideWithout('notes-card', notes.length);
