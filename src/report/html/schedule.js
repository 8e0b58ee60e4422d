// SPDX-License-Identifier: Apache-2.0
// What every stage of a pipeline runs, a row a stage: its forwards and backwards in their order, and below them each
// micro-batch from its forward to its last backward. The places of a row are the stage's own passes, not moments.

/// [forward, micro-batch as the stage names it ("3", or "3.1" where a rank has several stages)], in order.
function passesOf(text) {
  return text.split(' ').map(pass => ({forward: pass[0] === 'F', micro: pass.slice(1)}));
}

/// When each micro-batch is alive: {micro, from, to, lane}; a lane is free again behind the last backward.
function livesOf(passes) {
  const lives = new Map(), ends = [];
  passes.forEach(({micro}, at) => {
    if (!lives.has(micro)) lives.set(micro, {micro, from: at, to: at + 1});
    lives.get(micro).to = at + 1;
  });
  for (const life of lives.values()) {
    const free = ends.findIndex(end => end <= life.from);
    life.lane = free < 0 ? ends.length : free;
    ends[life.lane] = life.to;
  }
  return {lives: [...lives.values()], lanes: ends.length};
}

const STRIP = 14, LANE = 3, GAP = 4;  // pixels: the passes, a micro-batch, between the two

function scheduleRow(text, places) {
  const passes = passesOf(text), {lives, lanes} = livesOf(passes);
  const bar = (x, y, width, height) => `M${x} ${y}h${width}v${height}h${-width}z`;
  const strip = forward => passes.map((pass, at) => pass.forward === forward ? bar(at + 0.05, 0, 0.9, STRIP) : '').join('');
  const alive = lives.map(({from, to, lane}) => bar(from + 0.05, STRIP + GAP + lane * LANE, to - from - 0.1, LANE - 1));
  const height = STRIP + GAP + lanes * LANE;
  const picture = element('div');
  picture.innerHTML = `<svg viewBox="0 0 ${places} ${height}" height="${height}" preserveAspectRatio="none">` +
    `<path class="forward" d="${strip(true)}"/><path class="backward" d="${strip(false)}"/>` +
    `<path class="alive" d="${alive.join('')}"/></svg>`;
  picture.addEventListener('pointermove', pointer => {
    const box = picture.getBoundingClientRect();
    const at = Math.floor((pointer.clientX - box.left) / box.width * places), pass = passes[at];
    const names = lives.filter(({from, to}) => from <= at && at < to).map(({micro}) => micro);
    picture.title = pass
      ? `${pass.forward ? 'forward' : 'backward'} of micro-batch ${pass.micro}; alive: ${names.join(', ')}` : '';
  });
  return picture;
}

function buildSchedule() {
  if (data.schedule.length === 0) return;
  byId('stages').hidden = false;
  const places = Math.max(...data.schedule.map(([, text]) => passesOf(text).length));
  for (const [stage, text, most] of data.schedule)
    byId('stage-rows').append(element('span', {}, `stage ${stage}`), scheduleRow(text, places),
      element('span', {class: 'number'}, String(most)));
}

buildSchedule();
