// SPDX-License-Identifier: Apache-2.0
// The page of plans: what stands in the answer's JSON (docs/json.md), drawn. `data` is written by src/report/plan_html.cpp.
const {answer, words, parts, reasons, pipeline = []} = data;
const plans = answer.plans;
const serves = answer.question === 'serve';
const mid = plan => (serves ? plan.tpot_seconds : plan.step_seconds).mid;

// A colour for each kind of time: "compute: gemm" and "compute: attention" are of one kind.
const COLOURS = {compute: 'activation', bubble: 'context', message: 'communication', host: 'workspace', optimizer: 'optimizer_state',
  offload: 'input'};
const kindOf = what => what.split(':')[0];
const colour = what => COLOURS[kindOf(what)] || 'unknown';

function secondsText(seconds) {
  if (seconds >= 100) return seconds.toFixed(0) + ' s';
  return seconds >= 1 ? Number(seconds.toPrecision(3)) + ' s' : Number((seconds * 1000).toPrecision(3)) + ' ms';
}

// The first `texts` columns are words, the others numbers.
function table(id, head, rows, texts = 1) {
  const row = (cells, tag) => element('tr', {}, ...cells.map((cell, i) => element(tag, i < texts ? {} : {class: 'number'}, cell)));
  byId(id).append(row(head, 'th'), ...rows.map(cells => row(cells, 'td')));
}

const hideWithout = (id, something) => { byId(id).hidden = !something; };

// ---- the answer ----------------------------------------------------------------------------------------------------

byId('model').textContent = answer.model.id;
document.title = `${answer.model.id} · plans · memtape`;
byId('settings').textContent = [answer.objective, answer.device && answer.device.name, `${answer.screened} plan${answer.screened === 1 ? '' : 's'}`,
  `${answer.confirmed} run exactly`].filter(Boolean).join(' · ');
if (plans.length)
  byId('verdict').append(element('b', {}, secondsText(mid(plans[0]))), element('p', {}, words[0][0]));
else
  byId('verdict').append(element('span', {class: 'word bad'}, 'nothing fits'));
const pre = command => element('pre', {class: 'command'}, command);
const quoted = words => words.map(word => (/[ {"]/.test(word) ? `'${word}'` : word)).join(' ');
const launched = plans.length && plans[0].launch ? [element('p', {}, 'Plan 1 is launched by:'), pre(plans[0].launch)] : [];
showAdvice(plans.length && plans[0].command.length ? [...launched,
  element('p', {}, launched.length ? 'and answered by:' : 'Plan 1 is answered by:'), pre(quoted(plans[0].command))] : [], []);

// ---- a bar of time for each plan -----------------------------------------------------------------------------------

const longest = Math.max(...plans.map(mid), 1e-12);
const seen = new Map();
plans.forEach((plan, i) => {
  const bar = element('div', {class: 'device-bar', style: `width:${100 * mid(plan) / longest}%`});
  for (const {what, seconds} of [...plan.time].sort((a, b) => kindOf(a.what).localeCompare(kindOf(b.what)) || b.seconds - a.seconds)) {
    seen.set(kindOf(what), colour(what));
    bar.append(element('i', {style: `width:${100 * seconds / mid(plan)}%;background:var(--${colour(what)});border-right:1px solid var(--card)`,
      title: `${what}: ${secondsText(seconds)}`}));
  }
  byId('plans').append(element('div', {class: 'rank'},
    element('div', {class: 'head'}, element('span', {}, `${i + 1}  ${plan.framework} · ${words[i][0]}`),
      element('span', {class: plan.fits === false ? 'number bad' : 'number'}, `${words[i][1]}, ${words[i][2]}`)), bar));
});
byId('key').append(...[...seen].map(([kind, category]) => element('li', {}, swatch(category), ' ' + kind)));

// ---- the pipeline --------------------------------------------------------------------------------------------------

hideWithout('pipeline-card', pipeline.length > 1);
byId('pipeline-key').append(...[['forward', 'parameter'], ['backward', 'gradient'], ['waits', 'line']].map(([word, category]) =>
  element('li', {}, swatch(category), ' ' + word)));
pipeline.forEach((lane, stage) => {
  const canvas = element('canvas', {width: String(lane.length), height: '14', style: 'width:100%;height:14px;display:block'});
  const ink = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  const [forward, backward, waits] = ['--parameter', '--gradient', '--line'].map(name => style.getPropertyValue(name));
  let busy = 0;
  for (let at = 0; at < lane.length; at += 2) {
    const [f, b] = [lane[at], lane[at + 1]].map(percent => percent * 0.14);
    busy += lane[at] + lane[at + 1];
    [[waits, 0, 14], [backward, 14 - b, b], [forward, 14 - b - f, f]].forEach(([fill, top, height]) => {
      ink.fillStyle = fill;
      ink.fillRect(at, top, 2, height);
    });
  }
  const share = Math.max(0, 100 - busy / (lane.length / 2));
  byId('pipeline').append(element('div', {style: 'display:grid;grid-template-columns:70px 1fr 50px;gap:8px;margin-bottom:2px'},
    element('span', {class: 'hint'}, `stage ${stage}`), canvas, element('span', {class: 'number hint'}, `${share.toFixed(0)} %`)));
});

// ---- tables --------------------------------------------------------------------------------------------------------

table('parts', ['', ...plans.map((_, i) => `plan ${i + 1}`)], parts);
hideWithout('parts-card', parts.length);
table('why', ['', 'layout', 'a step', 'memory'], reasons, 4);
hideWithout('why-card', reasons.length);

byId('notes').append(...answer.warnings.map(note => element('li', {}, note)));
hideWithout('notes-card', answer.warnings.length);
