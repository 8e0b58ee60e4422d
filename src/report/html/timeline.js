// SPDX-License-Identifier: Apache-2.0
// The page's script: one step of memory, every tensor a band, stacked by category and, within it, by time of allocation.
// `data` is written by src/report/html.cpp. Bytes are exact integers; only pixels are rounded.
const step = data.step;

const tensorText = (shape, dtype) => `[${shape.join(', ')}] ${dtype}`;

// ---- the step as data ----------------------------------------------------------------------------------------------

// events[i]: n > 0 allocates block n - 1, n < 0 frees block -n - 1, 0 does neither. Blocks below `alive` live from the start.
const events = step.events;
const count = events.length;
const sizes = step.sizes;
const whyOf = block => step.whys[step.why[block]];
const WHY = {category: 0, phase: 1, op: 2, node: 3, module: 4, shape: 5, dtype: 6, sentence: 7};
const categoryOf = step.why.map(w => step.whys[w][WHY.category]);

// What stays for the whole step lies at the bottom, what comes and goes on top.
const order = ['parameter', 'buffer', 'optimizer_state', 'workspace', 'kv_cache', 'cuda_graph', 'communication', 'context',
  'gradient', 'activation', 'input', 'temporary', 'autograd_detail', 'unknown'].map(name => data.categories.indexOf(name));

const born = new Int32Array(sizes.length).fill(-1);
const dies = new Int32Array(sizes.length).fill(count);
events.forEach((e, i) => {
  if (e > 0) born[e - 1] = i;
  if (e < 0) dies[-e - 1] = i;
});

// Bytes of each category after each event: levels[category][event].
const levels = data.categories.map(() => new Float64Array(count));
const used = new Set();
{
  const now = new Float64Array(data.categories.length);
  for (let b = 0; b < step.alive; ++b) now[categoryOf[b]] += sizes[b];
  for (let i = 0; i < count; ++i) {
    const block = Math.abs(events[i]) - 1;
    if (events[i] !== 0) now[categoryOf[block]] += events[i] > 0 ? sizes[block] : -sizes[block];
    now.forEach((bytes, c) => { levels[c][i] = bytes; if (bytes > 0) used.add(c); });
  }
}
const shownOrder = order.filter(c => used.has(c));

const reserved = new Float64Array(count);
{
  let next = 0, now = step.reserved_at_start;
  for (let i = 0; i < count; ++i) {
    while (next < step.reserved.length && step.reserved[next][0] <= i) now = step.reserved[next++][1];
    reserved[i] = now;
  }
}

// Walks through the step keeping, per category, the living blocks in order of allocation.
class Stacks {
  constructor() {
    this.stacks = data.categories.map(() => []);
    this.at = 0;
    for (let b = 0; b < step.alive; ++b) this.stacks[categoryOf[b]].push(b);
  }
  advance(event) {
    for (; this.at <= event; ++this.at) {
      const e = events[this.at];
      if (e > 0) this.stacks[categoryOf[e - 1]].push(e - 1);
      if (e < 0) {
        const stack = this.stacks[categoryOf[-e - 1]];
        stack.splice(stack.lastIndexOf(-e - 1), 1);
      }
    }
  }
}

// ---- state ---------------------------------------------------------------------------------------------------------

const hidden = new Set();
let view = {from: 0, to: count};
let hover = null;   // {event, block, x, y}
let drag = null;    // {start, now, moving}
let totals = null;  // visible bytes after each event

const visible = () => shownOrder.filter(c => !hidden.has(c));

function sumVisible() {
  totals = new Float64Array(count);
  for (const c of visible()) for (let i = 0; i < count; ++i) totals[i] += levels[c][i];
}

function highest(from, to) {
  let best = from;
  for (let i = from; i < to; ++i) if (totals[i] > totals[best]) best = i;
  return best;
}

// ---- drawing the tensors -------------------------------------------------------------------------------------------

const margin = {left: 64, right: 12, top: 26, bottom: 24};
const tensors = byId('tensors'), overlay = byId('overlay'), overview = byId('overview');
let frame = null;  // what was drawn last: {width, height, ratio, top, columns, ids}

function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
}
function rgb(hex) {
  return [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
}
// Neighbours differ a little in lightness, so that equal tensors can be told apart.
function shades(category) {
  const base = rgb(themeColour(data.categories[category]));
  const shade = f => {
    const [r, g, b] = base.map(v => Math.max(0, Math.min(255, Math.round(f > 1 ? v + (255 - v) * (f - 1) : v * f))));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  };
  return [shade(1), shade(1.1), shade(0.93), shade(1.18), shade(0.75)];
}

function sizeCanvas(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const box = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  return ratio;
}

function columnsOfView(width) {
  const columns = new Int32Array(width);
  const span = view.to - view.from;
  for (let x = 0; x < width; ++x) {
    const a = Math.min(count - 1, Math.floor(view.from + span * x / width));
    const b = Math.min(count, Math.max(a + 1, Math.floor(view.from + span * (x + 1) / width)));
    columns[x] = highest(a, b);
  }
  return columns;
}

function drawTensors() {
  const ratio = sizeCanvas(tensors);
  const width = Math.max(1, tensors.width - Math.round((margin.left + margin.right) * ratio));
  const height = Math.max(1, tensors.height - Math.round((margin.top + margin.bottom) * ratio));
  const columns = columnsOfView(width);
  let top = 1;
  for (const e of columns) top = Math.max(top, totals[e]);
  if (hidden.size === 0) {
    for (const e of columns) top = Math.max(top, reserved[e]);
    if (step.limit && step.limit < top * 1.15) top = Math.max(top, step.limit);
  }
  top *= 1.03;
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  const ids = new Int32Array(width * height).fill(-1);
  const colours = data.categories.map((_, c) => (used.has(c) ? shades(c) : null));
  const stacks = new Stacks();
  const shown = visible();
  for (let x = 0; x < width; ++x) {
    if (x > 0 && columns[x] === columns[x - 1]) { copyColumn(pixels, ids, x, width, height); continue; }
    stacks.advance(columns[x]);
    drawColumn(x, shown, stacks, {pixels, ids, colours, width, height, scale: height / top});
  }
  const context = tensors.getContext('2d');
  context.clearRect(0, 0, tensors.width, tensors.height);
  context.putImageData(image, Math.round(margin.left * ratio), Math.round(margin.top * ratio));
  frame = {width, height, ratio, top, columns, ids};
}

function copyColumn(pixels, ids, x, width, height) {
  for (let y = 0, at = x; y < height; ++y, at += width) {
    pixels[at] = pixels[at - 1];
    ids[at] = ids[at - 1];
  }
}

function drawColumn(x, shown, stacks, {pixels, ids, colours, width, height, scale}) {
  let bytes = 0, y = height;
  for (const c of shown) {
    const shade = colours[c];
    for (const block of stacks.stacks[c]) {
      bytes += sizes[block];
      const end = height - Math.round(bytes * scale);
      if (end >= y) continue;
      const colour = shade[block % 4];
      const edge = y - end >= 5 ? shade[4] : colour;
      for (let row = y - 1; row >= end && row >= 0; --row) {
        const at = row * width + x;
        pixels[at] = row === end ? edge : colour;
        ids[at] = block;
      }
      y = end;
    }
  }
}

// ---- drawing what lies over them -----------------------------------------------------------------------------------

const xOf = event => margin.left + (event - view.from) / (view.to - view.from) * (frame.width / frame.ratio);
const yOf = bytes => margin.top + (1 - bytes / frame.top) * (frame.height / frame.ratio);

function niceStep(top, lines) {
  const rough = top / lines, power = 2 ** Math.floor(Math.log2(rough));
  return rough / power > 1.5 ? power * 2 : power;
}

function drawOverlay() {
  const ratio = sizeCanvas(overlay);
  const g = overlay.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.font = '12px system-ui, "DejaVu Sans", sans-serif';
  drawScale(g);
  drawPhases(g);
  if (hidden.size === 0) drawLines(g);
  drawPeak(g);
  if (hover) drawHover(g);
  if (drag && !drag.moving) {
    g.fillStyle = themeColour('parameter') + '33';
    g.fillRect(Math.min(drag.start, drag.now), margin.top, Math.abs(drag.now - drag.start), frame.height / frame.ratio);
  }
}

function drawScale(g) {
  const right = margin.left + frame.width / frame.ratio;
  const distance = niceStep(frame.top, 6);
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (let bytes = 0; bytes < frame.top; bytes += distance) {
    const y = Math.round(yOf(bytes)) + 0.5;
    g.strokeStyle = themeColour('grid');
    g.beginPath(); g.moveTo(margin.left, y); g.lineTo(right, y); g.stroke();
    g.fillStyle = themeColour('quiet');
    g.fillText(bytes === 0 ? '0' : bytesText(bytes).replace(/\.0+ /, ' '), margin.left - 8, y);
  }
}

function drawPhases(g) {
  const right = margin.left + frame.width / frame.ratio, bottom = margin.top + frame.height / frame.ratio;
  g.textAlign = 'left';
  g.textBaseline = 'alphabetic';
  const many = step.windows.some(w => w[1] > 0);
  const stages = new Set(step.windows.map(w => w[4])).size;
  step.windows.forEach(([phase, microBatch, from, to, stage], i) => {
    const a = Math.max(margin.left, xOf(from)), b = Math.min(right, xOf(to));
    if (b <= a) return;
    if (i % 2 === 1) { g.fillStyle = themeColour('band'); g.fillRect(a, margin.top, b - a, bottom - margin.top); }
    g.strokeStyle = themeColour('line');
    g.beginPath(); g.moveTo(Math.round(a) + 0.5, margin.top); g.lineTo(Math.round(a) + 0.5, bottom + 6); g.stroke();
    const label = !many || phase === 'optimizer' ? phase
      : stages > 1 ? `${phase} ${microBatch + 1}, stage ${stage}` : `${phase} ${microBatch + 1}`;
    g.fillStyle = themeColour('quiet');
    if (g.measureText(label).width + 8 < b - a) g.fillText(label, a + 6, bottom + 17);
  });
}

function drawLines(g) {
  const left = margin.left;
  g.save();
  g.beginPath(); g.rect(left, 0, frame.width / frame.ratio, 1e4); g.clip();
  g.setLineDash([2, 3]);
  g.strokeStyle = themeColour('quiet');
  g.beginPath();
  frame.columns.forEach((event, x) => g.lineTo(left + x / frame.ratio, yOf(reserved[event])));
  g.stroke();
  label(g, 'reserved', left + 6, yOf(reserved[frame.columns[0]]) - 5, themeColour('quiet'));
  if (step.limit && step.limit <= frame.top) {
    g.beginPath(); g.moveTo(left, yOf(step.limit)); g.lineTo(left + frame.width / frame.ratio, yOf(step.limit));
    for (const [colour, width, dash] of [['card', 4, []], ['bad', 2, [6, 4]]]) {
      g.setLineDash(dash);
      g.lineWidth = width;
      g.strokeStyle = themeColour(colour);
      g.stroke();
    }
    label(g, 'what the device leaves to the allocator', left + 90, yOf(step.limit) - 5, themeColour('bad'));
  }
  g.restore();
}

// A rim of the card's colour keeps the words legible over tensors of any colour.
function label(g, text, x, y, colour) {
  g.textAlign = 'left';
  g.setLineDash([]);
  g.lineWidth = 4;
  g.lineJoin = 'round';
  g.strokeStyle = themeColour('card');
  g.strokeText(text, x, y);
  g.lineWidth = 1;
  g.fillStyle = colour;
  g.fillText(text, x, y);
}

function drawPeak(g) {
  const from = Math.floor(view.from), to = Math.ceil(view.to);
  const event = highest(Math.max(0, from), Math.min(count, to));
  const x = xOf(event + 0.5), y = yOf(totals[event]);
  g.fillStyle = themeColour('ink');
  g.beginPath(); g.moveTo(x, y - 2); g.lineTo(x - 5, y - 10); g.lineTo(x + 5, y - 10); g.fill();
  const text = bytesText(totals[event]);
  const room = g.measureText(text).width + 10;
  const onRight = x + room < margin.left + frame.width / frame.ratio;
  g.textAlign = onRight ? 'left' : 'right';
  g.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
  g.fillText(text, onRight ? x + 9 : x - 9, y - 4);
}

function drawHover(g) {
  const {width, height, ratio, ids} = frame;
  g.strokeStyle = themeColour('quiet');
  g.lineWidth = 1;
  const x = Math.round(hover.x) + 0.5;
  g.beginPath(); g.moveTo(x, margin.top); g.lineTo(x, margin.top + height / ratio); g.stroke();
  if (hover.block < 0) return;
  const glow = new ImageData(width, height);
  const pixels = new Uint32Array(glow.data.buffer);
  for (let i = 0; i < ids.length; ++i) if (ids[i] === hover.block) pixels[i] = 0x66ffffff;
  const layer = document.createElement('canvas');
  layer.width = width;
  layer.height = height;
  layer.getContext('2d').putImageData(glow, 0, 0);
  g.drawImage(layer, margin.left, margin.top, width / ratio, height / ratio);
}

function drawOverview() {
  const ratio = sizeCanvas(overview);
  const g = overview.getContext('2d');
  const left = margin.left, width = overview.width / ratio - left - margin.right, height = overview.height / ratio;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const most = totals.reduce((a, b) => Math.max(a, b), 1);
  for (let x = 0; x < width; ++x) {
    const a = Math.floor(count * x / width), b = Math.max(a + 1, Math.floor(count * (x + 1) / width));
    const event = highest(a, Math.min(b, count));
    let y = height;
    for (const c of visible()) {
      const h = levels[c][event] / most * (height - 2);
      g.fillStyle = themeColourCache[c];
      g.fillRect(left + x, y - h, 1.2, h);
      y -= h;
    }
  }
  g.fillStyle = themeColour('ground') + 'b0';
  const from = left + view.from / count * width, to = left + view.to / count * width;
  g.fillRect(left, 0, from - left, height);
  g.fillRect(to, 0, left + width - to, height);
  g.strokeStyle = themeColour('quiet');
  g.strokeRect(from + 0.5, 0.5, Math.max(2, to - from - 1), height - 1);
}
let themeColourCache = [];

function draw() {
  themeColourCache = data.categories.map(themeColour);
  sumVisible();
  drawTensors();
  drawOverlay();
  drawOverview();
  showMoment();
}

// ---- tooltip and legend --------------------------------------------------------------------------------------------

const peakEvent = step.peak_event;

function showMoment() {
  const event = hover ? hover.event : peakEvent;
  byId('legend-title').textContent = hover ? `After event ${event + 1} of ${count}` : 'At the peak';
  let total = 0, most = 1;
  for (const c of shownOrder) { total += levels[c][event]; most = Math.max(most, levels[c][event]); }
  for (const item of byId('legend').children) {
    const c = Number(item.dataset.category), bytes = levels[c][event];
    item.querySelector('.bytes').textContent = bytesText(bytes);
    item.querySelector('.track i').style.width = `${100 * bytes / most}%`;
  }
  byId('levels').replaceChildren(...[['allocated', total], ['reserved', reserved[event]]]
    .flatMap(([name, bytes]) => [element('dt', {}, name), element('dd', {title: exact(bytes)}, bytesText(bytes))]));
}

function buildLegend() {
  byId('legend').replaceChildren(...[...shownOrder].reverse().map(c => {
    const name = data.categories[c];
    const button = element('button', {'aria-pressed': 'true', title: 'show or hide'}, swatch(name),
      element('span', {}, name.replaceAll('_', ' ')), element('span', {class: 'bytes'}),
      element('span', {class: 'track'}, element('i', {style: `background:${colourOf(name)}`})));
    button.addEventListener('click', () => {
      hidden.has(c) ? hidden.delete(c) : hidden.add(c);
      if (hidden.size === shownOrder.length) hidden.delete(c);
      button.setAttribute('aria-pressed', String(!hidden.has(c)));
      hover = null;
      draw();
    });
    const item = element('li', {}, button);
    item.dataset.category = c;
    return item;
  }));
}

function tooltipContent(block) {
  const why = whyOf(block);
  const name = data.categories[why[WHY.category]];
  const module = step.modules[why[WHY.module]];
  const lasts = (born[block] < 0 ? 'before the step' : `event ${born[block] + 1}`) + ' to ' +
    (dies[block] >= count ? 'after the step' : `event ${dies[block] + 1}`);
  const made = data.by_place ? [['place', why[WHY.op]], ['called from', module]] :
    [['module', module || '(top level)'], ['op', why[WHY.op]], ['node', why[WHY.node]], ['tensor', tensorText(why[WHY.shape], why[WHY.dtype])]];
  const rows = [...made, ['made in', why[WHY.phase]], ['alive', lasts], ['bytes', exact(sizes[block])]].filter(([, value]) => value);
  return [
    element('div', {class: 'size'}, swatch(name), element('b', {}, bytesText(sizes[block])), name.replaceAll('_', ' ')),
    element('div', {class: 'why'}, step.sentences[why[WHY.sentence]].replaceAll('{module}', module || 'the top level')),
    element('dl', {}, ...rows.flatMap(([key, value]) => [element('dt', {}, key), element('dd', {class: 'mono'}, value)])),
  ];
}

function showTooltip(pointer) {
  const tooltip = byId('tooltip');
  tooltip.hidden = !hover || hover.block < 0 || drag !== null;
  if (tooltip.hidden) return;
  tooltip.replaceChildren(...tooltipContent(hover.block));
  const box = tooltip.getBoundingClientRect();
  const right = pointer.clientX + 16 + box.width < window.innerWidth;
  tooltip.style.left = `${Math.max(4, right ? pointer.clientX + 16 : pointer.clientX - 16 - box.width)}px`;
  tooltip.style.top = `${Math.max(4, Math.min(pointer.clientY + 12, window.innerHeight - box.height - 8))}px`;
}

// ---- pointer, wheel, keys ------------------------------------------------------------------------------------------

const kLeastEvents = 8;

function setView(from, to) {
  const span = Math.max(Math.min(kLeastEvents, count), Math.min(count, to - from));
  const start = Math.max(0, Math.min(count - span, from));
  view = {from: start, to: start + span};
  hover = null;
  requestAnimationFrame(draw);
}

function eventAt(x) {
  const share = (x - margin.left) / (frame.width / frame.ratio);
  return view.from + Math.max(0, Math.min(1, share)) * (view.to - view.from);
}

function pointAt(pointer) {
  const box = overlay.getBoundingClientRect();
  return {x: pointer.clientX - box.left, y: pointer.clientY - box.top};
}

function hoverAt({x, y}) {
  const column = Math.floor((x - margin.left) * frame.ratio), row = Math.floor((y - margin.top) * frame.ratio);
  if (column < 0 || column >= frame.width || row < 0 || row >= frame.height) return null;
  return {event: frame.columns[column], block: frame.ids[row * frame.width + column], x, y};
}

overlay.addEventListener('pointermove', pointer => {
  const at = pointAt(pointer);
  if (drag) {
    if (drag.moving) {
      const shift = (drag.now - at.x) / (frame.width / frame.ratio) * (view.to - view.from);
      drag.now = at.x;
      setView(view.from + shift, view.to + shift);
    }
    drag.now = at.x;
  }
  hover = drag ? null : hoverAt(at);
  drawOverlay();
  showMoment();
  showTooltip(pointer);
});
overlay.addEventListener('pointerleave', () => {
  hover = null;
  drawOverlay();
  showMoment();
  byId('tooltip').hidden = true;
});
overlay.addEventListener('pointerdown', pointer => {
  if (pointer.button !== 0) return;
  overlay.setPointerCapture(pointer.pointerId);
  const {x} = pointAt(pointer);
  drag = {start: x, now: x, moving: pointer.shiftKey};
});
overlay.addEventListener('pointerup', () => {
  if (!drag) return;
  const {start, now, moving} = drag;
  drag = null;
  if (!moving && Math.abs(now - start) > 4) setView(eventAt(Math.min(start, now)), eventAt(Math.max(start, now)));
});
overlay.addEventListener('dblclick', () => setView(0, count));
overlay.addEventListener('wheel', wheel => {
  wheel.preventDefault();
  const span = view.to - view.from;
  if (Math.abs(wheel.deltaX) > Math.abs(wheel.deltaY)) {
    const shift = wheel.deltaX / (frame.width / frame.ratio) * span;
    return setView(view.from + shift, view.to + shift);
  }
  const factor = Math.exp(wheel.deltaY * 0.0015), centre = eventAt(pointAt(wheel).x);
  setView(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}, {passive: false});
overlay.addEventListener('keydown', key => {
  const span = view.to - view.from, middle = (view.from + view.to) / 2;
  const moves = {
    ArrowLeft: [view.from - span / 8, view.to - span / 8], ArrowRight: [view.from + span / 8, view.to + span / 8],
    '+': [middle - span / 4, middle + span / 4], '-': [middle - span, middle + span], Escape: [0, count],
  };
  if (!(key.key in moves)) return;
  key.preventDefault();
  setView(...moves[key.key]);
});
function centreOn(pointer) {
  if (pointer.buttons !== 1) return;
  const box = overview.getBoundingClientRect(), span = view.to - view.from;
  const event = (pointer.clientX - box.left - margin.left) / (box.width - margin.left - margin.right) * count;
  setView(event - span / 2, event + span / 2);
}
overview.addEventListener('pointerdown', centreOn);
overview.addEventListener('pointermove', centreOn);
window.addEventListener('resize', () => requestAnimationFrame(draw));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => requestAnimationFrame(draw));

// ---- the rest of the page ------------------------------------------------------------------------------------------

function buildHead() {
  document.title = `${data.model} - memtape`;
  byId('model').textContent = data.model;
  byId('settings').textContent = data.settings.join(' · ');
  const peak = element('b', {title: exact(data.needs)}, bytesText(data.needs));
  const verdict = byId('verdict');
  if (!data.device) return verdict.append(peak, element('p', {}, 'on the device at the peak of a step'));
  const room = data.room;
  const mood = {'fits': 'good', 'does not fit': 'bad'}[data.verdict] || '';
  verdict.append(peak, ` of ${bytesText(data.device.total)}`,
    element('p', {}, element('span', {class: `word ${mood}`}, `${data.verdict_in_words} `),
      `${data.device.name}, ${bytesText(Math.abs(room))} ${room < 0 ? 'too much' : 'to spare'}`));
  showAdvice(data.reasons.map(text => element('p', {class: 'reason'}, text)), data.advice);
}

function buildDeviceBar() {
  const full = Math.max(data.device ? data.device.total : 0, data.peak_device);
  const part = (bytes, style, title, name = '') =>
    element('i', {class: name, style: `width:${100 * bytes / full}%;${style}`, title: `${title}: ${bytesText(bytes)}`});
  const parts = order.filter(c => data.at_peak[c] > 0)
    .map(c => part(data.at_peak[c], `background:${colourOf(data.categories[c])}`, data.categories[c]));
  const slack = data.peak_reserved - data.peak_allocated, outside = data.peak_device - data.peak_reserved;
  parts.push(part(slack, '', 'free in segments', 'reserved'), part(outside, `background:${colourOf('context')}`, 'outside the allocator'));
  byId('device-bar').append(...parts);
  const words = [`allocated ${bytesText(data.peak_allocated)}`, `free in segments ${bytesText(slack)}`,
    `outside the allocator ${bytesText(outside)}`];
  byId('device-legend').append(element('span', {}, words.join(' + ')),
    element('span', {}, data.device ? `${data.device.name}, as the driver reports it` : ''));
}

function row(tag, cells, attributes = {}) {
  return element('tr', attributes, ...cells.map(([content, name]) =>
    element(tag, name ? {class: name} : {}, ...(Array.isArray(content) ? content : [content]))));
}

function buildTables() {
  byId('largest').append(row('th', [[data.by_place ? 'Allocated at' : 'Tensor'], [data.by_place ? 'Called from' : 'Why it exists'], ['Count', 'number'], ['Bytes', 'number']]),
    ...data.largest.map(t => row('td', [
      data.by_place ? [[element('span', {class: 'mono'}, t.module)]] :
        [[swatch(t.category), element('span', {class: 'mono'}, `${t.module || t.op} ${tensorText(t.shape, t.dtype)}`)]],
      [t.why], [String(t.count), 'number'], [bytesText(t.bytes), 'number']])));
  byId('phases').append(row('th', [[''], ['Requested', 'number'], ['Allocated', 'number'], ['Reserved', 'number']]),
    ...data.phases.map(p => row('td', [[p.name + (p.name === data.peak_phase ? ', the peak' : '')],
      ...p.levels.map(bytes => [bytesText(bytes), 'number'])], p.name === data.peak_phase ? {class: 'peak'} : {})));
  byId('notes').append(...data.notes.map(text => element('li', {}, text)));
  byId('notes-card').hidden = data.notes.length === 0;
}

/// A row a stage, a cell a rank, as strong as its peak between the lowest and the highest.
function buildGrid() {
  if (data.grid.length === 0) return;
  const peaks = data.grid.flatMap(row => row.cells.map(([, bytes]) => bytes));
  const low = Math.min(...peaks), high = Math.max(...peaks);
  byId('ranks').hidden = false;
  byId('ranks-range').textContent = `${bytesText(low)} to ${bytesText(high)}`;
  for (const {stage, cells} of data.grid)
    byId('grid').append(element('span', {}, `stage ${stage}`), element('div', {}, ...cells.map(([rank, bytes]) =>
      element('i', {title: `from rank ${rank}: ${bytesText(bytes)}`,
        style: `opacity:${high === low ? 1 : 0.25 + 0.75 * (bytes - low) / (high - low)}`}))));
}

/// A strip a stage: each micro-batch from its forward to its last backward, over the events of the step.
function buildFlights() {
  if (data.flights.length === 0) return;
  byId('schedule').hidden = false;
  for (const stage of new Set(data.flights.map(f => f[0]))) {
    const own = data.flights.filter(f => f[0] === stage), ends = [];
    const bars = own.map(([, micro, from, to]) => {
      let lane = ends.findIndex(end => end <= from);
      if (lane < 0) lane = ends.length;
      ends[lane] = to;
      return element('i', {title: `micro-batch ${micro}`,
        style: `left:${100 * from / count}%;width:${100 * (to - from) / count}%;top:${5 * lane}px`});
    });
    byId('flights').append(element('span', {}, `stage ${stage}`),
      element('div', {style: `height:${5 * ends.length}px`}, ...bars));
  }
}

buildHead();
buildDeviceBar();
buildGrid();
buildFlights();
buildTables();
if (count > 0) {
  buildLegend();
  draw();
} else {
  byId('timeline').hidden = true;
}
