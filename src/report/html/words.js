// SPDX-License-Identifier: Apache-2.0
// What the pages' scripts share: it stands before each of them.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const byId = id => document.getElementById(id);

function bytesText(bytes) {
  const units = [['GiB', 2 ** 30, 2], ['MiB', 2 ** 20, 2], ['KiB', 1024, 1]];
  for (const [name, size, digits] of units)
    if (Math.abs(bytes) >= size) return (bytes / size).toFixed(digits) + ' ' + name;
  return bytes + ' B';
}
const exact = bytes => bytes.toLocaleString('en-US') + ' B';

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'class') node.className = value;
    else if (name === 'style') node.style.cssText = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

// Under the head: why the verdict is as it is, and the commands that would change it. An option and its value stay on one line.
function showAdvice(paragraphs, advice) {
  byId('advice').hidden = !(paragraphs.length || advice.length);
  byId('advice').append(...paragraphs, ...advice.flatMap(({peak, cost, command}) => [
    element('p', {}, `What would make it fit, at ${bytesText(peak)} (costs ${cost}):`),
    element('pre', {class: 'command'}, ...command.split(/ (?=--?[A-Za-z])/).flatMap(words => [element('span', {}, words), ' ']))]));
}

const colourOf = category => `var(--${category})`;
const swatch = category => element('span', {class: 'swatch', style: `background:${colourOf(category)}`});
