// SPDX-License-Identifier: Apache-2.0
// The page of `memtape explain --html`: a recording's memory over time, by stack, and segment by segment.
const CATEGORIES = ['parameter', 'buffer', 'optimizer_state', 'gradient', 'activation', 'input', 'temporary', 'autograd_detail',
  'kv_cache', 'communication', 'workspace', 'cuda_graph', 'context', 'unknown'];
const LEFT = 78, BOTTOM = 22, TOP = 10, SEGMENT_HEIGHT = 12;
const ink = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const tooltip = byId('tooltip');
let shown = 0;

function showTooltip(event, ...lines) {
  tooltip.replaceChildren(...lines.map((line, i) => element(i ? 'div' : 'b', {}, line)));
  tooltip.hidden = false;
  const box = tooltip.getBoundingClientRect();
  tooltip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 8)) + 'px';
  tooltip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 8)) + 'px';
}
const hideTooltip = () => { tooltip.hidden = true; };

function fitCanvas(canvas, height) {
  const width = canvas.parentElement.clientWidth;
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const pen = canvas.getContext('2d');
  pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return {pen, width, height};
}

// Allocated over time.
function scales(recording, width, height) {
  const prediction = shown === data.laid_beside ? data.prediction : null;
  const most = Math.max(1, recording.peak_reserved.reserved, recording.peak.allocated, prediction ? prediction.peak_reserved : 0) * 1.04;
  const last = Math.max(1, recording.last_event - 1);
  return {
    prediction, most,
    x: event => LEFT + (width - LEFT - 8) * event / last,
    y: bytes => height - BOTTOM - (height - BOTTOM - TOP) * bytes / most,
    eventAt: px => Math.round((px - LEFT) / (width - LEFT - 8) * last),
  };
}

function drawAxis(pen, scale, width, height) {
  pen.font = '12px system-ui, sans-serif';
  pen.fillStyle = ink('quiet');
  pen.strokeStyle = ink('line');
  pen.textAlign = 'right';
  for (let i = 0; i <= 4; i++) {
    const bytes = scale.most * i / 4, y = scale.y(bytes);
    pen.fillText(bytesText(Math.round(bytes)), LEFT - 8, y + 4);
    pen.beginPath();
    pen.moveTo(LEFT, y);
    pen.lineTo(width - 8, y);
    pen.stroke();
  }
  pen.textAlign = 'center';
  pen.fillText('events of the allocator', (LEFT + width) / 2, height - 4);
}

function drawLine(pen, points, colour, dash) {
  pen.strokeStyle = colour;
  pen.setLineDash(dash);
  pen.lineWidth = 1.5;
  pen.beginPath();
  points.forEach(([x, y], i) => i ? pen.lineTo(x, y) : pen.moveTo(x, y));
  pen.stroke();
  pen.setLineDash([]);
}

function drawLayers() {
  const recording = data.recordings[shown];
  const {pen, width, height} = fitCanvas(byId('layers'), 420);
  const scale = scales(recording, width, height);
  drawAxis(pen, scale, width, height);
  const xs = recording.events.map(scale.x);
  const below = recording.events.map(() => 0);
  for (const layer of recording.layers) {
    pen.fillStyle = ink(layer.category);
    pen.beginPath();
    xs.forEach((x, i) => pen.lineTo(x, scale.y(below[i])));
    for (let i = xs.length - 1; i >= 0; i--) pen.lineTo(xs[i], scale.y(below[i] + layer.bytes[i]));
    pen.fill();
    pen.strokeStyle = ink(layer.category);  // a spike of one column is to be seen
    pen.lineWidth = 1;
    pen.stroke();
    layer.bytes.forEach((bytes, i) => { below[i] += bytes; });
  }
  drawLine(pen, xs.map((x, i) => [x, scale.y(recording.reserved[i])]), ink('quiet'), [5, 3]);
  if (scale.prediction) {
    drawLine(pen, scale.prediction.step.map(([event, bytes]) => [scale.x(event), scale.y(bytes)]), ink('ink'), []);
    const y = scale.y(scale.prediction.peak_allocated);
    drawLine(pen, [[LEFT, y], [width - 8, y]], ink('ink'), [2, 3]);
  }
  for (const oom of recording.ooms) drawLine(pen, [[scale.x(oom.event), TOP], [scale.x(oom.event), height - BOTTOM]], ink('bad'), []);
}

function pointLayers(event) {
  const recording = data.recordings[shown], box = byId('layers').getBoundingClientRect();
  const scale = scales(recording, box.width, box.height);
  const at = scale.eventAt(event.clientX - box.left);
  if (event.clientX - box.left < LEFT || !recording.events.length) return hideTooltip();
  let column = recording.events.findIndex(e => e >= at);
  if (column < 0) column = recording.events.length - 1;
  const pointed = (box.height - BOTTOM - (event.clientY - box.top)) / (box.height - BOTTOM - TOP) * scale.most;
  let below = 0, hit = null;
  for (const layer of recording.layers) {
    if (!hit && pointed >= below && pointed < below + layer.bytes[column]) hit = layer;
    below += layer.bytes[column];
  }
  const lines = [`${bytesText(below)} allocated, ${bytesText(recording.reserved[column])} reserved`,
    `after event ${(recording.events[column] + 1).toLocaleString('en-US')}`];
  if (hit) lines.push(`${hit.category.replace('_', ' ')}: ${bytesText(hit.bytes[column])}`, hit.place || 'the smaller ones together');
  showTooltip(event, ...lines);
}

// The peak by stack.
function flameRow(node, total, depth, rows, left, parts) {
  (rows[depth] ??= []).push({node, left, share: node.bytes / total, parts});
  let at = left;
  for (const child of node.children || []) {
    flameRow(child, total, depth + 1, rows, at, [...parts, child.frame]);
    at += child.bytes / total;
  }
}

function drawFlame(root) {
  const rows = [], host = byId('flame');
  flameRow(root, root.bytes || 1, 0, rows, 0, [root.frame]);
  host.replaceChildren(...rows.map((row, depth) => {
    const line = element('div', {style: 'position:relative;height:20px'});
    for (const {node, left, share, parts} of row) {
      const hue = 18 + (node.frame.length * 37 + depth * 11) % 40;
      const cell = element('button', {type: 'button', style: `all:unset;position:absolute;box-sizing:border-box;left:${left * 100}%;` +
        `width:${share * 100}%;height:19px;overflow:hidden;white-space:nowrap;font-size:12px;line-height:19px;padding:0 4px;cursor:pointer;` +
        `border-right:1px solid var(--card);color:#1b2430;background:hsl(${hue} 75% ${depth ? 68 : 82}%)`}, share > 0.03 ? node.frame : '');
      cell.addEventListener('pointermove', event => showTooltip(event, `${bytesText(node.bytes)} (${(100 * node.bytes /
        data.recordings[shown].flame.bytes).toFixed(1)} %)`, ...parts.slice(-6)));
      cell.addEventListener('pointerleave', hideTooltip);
      cell.addEventListener('click', () => drawFlame(depth === 0 ? data.recordings[shown].flame : node));
      line.append(cell);
    }
    return line;
  }));
}

// Segments: a row each, as long as it is large; what is free is left empty.
function segmentRows(recording, width) {
  const largest = Math.max(1, ...recording.segments.map(s => s.size)), rows = [];
  let x = 0, y = 0;
  for (const segment of recording.segments) {
    const w = Math.max(3, (width - 2) * segment.size / largest);
    if (x + w > width) { x = 0; y += SEGMENT_HEIGHT + 4; }
    rows.push({segment, x, y, w});
    x += w + 4;
  }
  return {rows, height: y + SEGMENT_HEIGHT + 4};
}

function drawSegments() {
  const recording = data.recordings[shown], canvas = byId('segments');
  const {rows, height} = segmentRows(recording, canvas.parentElement.clientWidth - 34);
  const {pen} = fitCanvas(canvas, Math.max(20, height));
  for (const {segment, x, y, w} of rows) {
    pen.fillStyle = ink('line');
    pen.fillRect(x, y, w, SEGMENT_HEIGHT);
    for (const [offset, size, category] of segment.blocks) {
      pen.fillStyle = ink(category);
      pen.fillRect(x + w * offset / segment.size, y, Math.max(0.5, w * size / segment.size), SEGMENT_HEIGHT);
    }
  }
}

function pointSegments(event) {
  const recording = data.recordings[shown], canvas = byId('segments'), box = canvas.getBoundingClientRect();
  const {rows} = segmentRows(recording, canvas.parentElement.clientWidth - 34);
  const px = event.clientX - box.left, py = event.clientY - box.top;
  const row = rows.find(r => px >= r.x && px <= r.x + r.w && py >= r.y && py <= r.y + SEGMENT_HEIGHT);
  if (!row) return hideTooltip();
  const {segment} = row, at = (px - row.x) / row.w * segment.size;
  const used = segment.blocks.reduce((sum, block) => sum + block[1], 0);
  const kind = segment.is_expandable ? 'expandable segment' : segment.is_small ? 'segment of small blocks' : 'segment';
  const lines = [`${kind} of ${bytesText(segment.size)}, ${bytesText(segment.size - used)} free`];
  const block = segment.blocks.find(b => at >= b[0] && at < b[0] + b[1]);
  lines.push(block ? `${block[2].replace('_', ' ')}, ${bytesText(block[1])}` : 'free');
  if (block) lines.push(recording.places[block[3]]);
  showTooltip(event, ...lines);
}

// Words.
function showWords() {
  const recording = data.recordings[shown];
  byId('model').textContent = recording.name + (data.recordings.length > 1 ? `, device ${recording.device}` : '');
  byId('settings').textContent = `${recording.last_event.toLocaleString('en-US')} events` +
    (recording.is_exact ? '; the replica of the allocator agrees with every one' : '');
  byId('verdict').replaceChildren(element('b', {}, bytesText(recording.peak.allocated)), element('div', {},
    `allocated at the peak, ${bytesText(recording.peak_reserved.reserved)} reserved at most`));
  byId('timeline-hint').textContent = 'dashed: reserved' + (shown === data.laid_beside ? '; line: the predicted step, dots: its peak' : '');
  byId('segments-hint').textContent = `after event ${(recording.segments_event + 1).toLocaleString('en-US')}; empty: free` +
    (recording.segments_not_shown ? `; ${recording.segments_not_shown.toLocaleString('en-US')} smaller ones are not shown` : '');
  const there = CATEGORIES.filter(category => recording.layers.some(layer => layer.category === category));
  byId('key').replaceChildren(...there.map(category => element('li', {}, swatch(category), ' ' + category.replace('_', ' '))));
  const accident = [...recording.ooms.slice(0, 3).map(oom => `out of memory at event ${(oom.event + 1).toLocaleString('en-US')}: ` +
      `${bytesText(oom.requested)} were asked for${recording.oom_place ? ' by ' + recording.oom_place : ''}, the device had ${bytesText(oom.device_free)}`),
    ...recording.remedies.map(remedy => `${remedy.change}: ${remedy.effect}`)];
  byId('accident-card').hidden = !accident.length;
  byId('accident').replaceChildren(...accident.map(line => element('li', {}, line)));
  const laid = shown === data.laid_beside;
  byId('residual-card').hidden = !laid;
  if (laid) {
    byId('against').textContent = data.prediction.words;
    const rows = data.residual.map(r => element('tr', {}, element('td', {}, r.cause), element('td', {class: 'number'}, exact(r.bytes)), element('td', {}, r.where)));
    byId('residual').replaceChildren(...(rows.length ? rows : [element('tr', {}, element('td', {}, 'equal to the byte'))]));
  }
  byId('notes-card').hidden = !data.warnings.length;
  byId('notes').replaceChildren(...data.warnings.map(line => element('li', {}, line)));
}

function show(index) {
  shown = index;
  byId('recordings').querySelectorAll('button').forEach((button, i) => button.setAttribute('aria-selected', i === index));
  showWords();
  drawLayers();
  drawFlame(data.recordings[shown].flame);
  drawSegments();
}

if (data.recordings.length > 1) {
  byId('recordings').hidden = false;
  byId('recordings').replaceChildren(...data.recordings.map((recording, i) => {
    const tab = element('button', {type: 'button', role: 'tab'}, `${recording.name}, device ${recording.device}`);
    tab.addEventListener('click', () => show(i));
    return tab;
  }));
}
byId('layers').addEventListener('pointermove', pointLayers);
byId('layers').addEventListener('pointerleave', hideTooltip);
byId('segments').addEventListener('pointermove', pointSegments);
byId('segments').addEventListener('pointerleave', hideTooltip);
addEventListener('resize', () => { drawLayers(); drawSegments(); });
show(data.laid_beside ?? 0);
