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

const colourOf = category => `var(--${category})`;
const swatch = category => element('span', {class: 'swatch', style: `background:${colourOf(category)}`});
