// SPDX-License-Identifier: Apache-2.0
// Draws a step: every tensor a band over time, the levels of the allocator and the limit above them.
import {bytesText} from '../format';
import type {Step} from './step';

export const MARGIN = {left: 58, right: 10, top: 22, bottom: 22};

export interface Theme {
  ink: string;
  card: string;
  quiet: string;
  line: string;
  band: string;
  bad: string;
  categories: string[];  // by number, as #rrggbb
}

export interface Frame {
  width: number;      // of the plot, in device pixels
  height: number;
  ratio: number;
  top: number;        // bytes at its upper edge
  columns: Int32Array;
  blocks: Int32Array; // the block under each pixel, -1 for none
}

/** Neighbours differ a little in lightness, so that equal tensors can be told apart. */
function shades(hex: string): number[] {
  const base = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
  return [1, 1.12, 0.93, 1.2, 0.8].map(f => {
    const [r, g, b] = base.map(v => Math.min(255, Math.round(f > 1 ? v + (255 - v) * (f - 1) : v * f)));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  });
}

export function paintTensors(canvas: HTMLCanvasElement, step: Step, theme: Theme, from: number, to: number): Frame {
  const ratio = Math.min(devicePixelRatio || 1, 2), box = canvas.getBoundingClientRect();
  canvas.width = Math.max(1, Math.round(box.width * ratio));
  canvas.height = Math.max(1, Math.round(box.height * ratio));
  const width = Math.max(1, canvas.width - Math.round((MARGIN.left + MARGIN.right) * ratio));
  const height = Math.max(1, canvas.height - Math.round((MARGIN.top + MARGIN.bottom) * ratio));
  const columns = step.columns(width, from, to), limit = step.data.limit;
  let top = 1;
  for (const event of columns) top = Math.max(top, step.totals[event], step.reserved[event]);
  if (limit && limit < top * 1.2) top = Math.max(top, limit);
  top *= 1.04;
  const image = new ImageData(width, height), pixels = new Uint32Array(image.data.buffer);
  const blocks = new Int32Array(width * height).fill(-1);
  const colours = step.order.map(c => shades(theme.categories[c]));
  step.walk(columns, (x, stacks) => {
    let bytes = 0;
    stacks.forEach((stack, i) => {
      for (const block of stack) {
        const low = height - Math.round(bytes / top * height);
        bytes += step.data.sizes[block];
        const high = height - Math.round(bytes / top * height);
        for (let y = high; y < low; ++y) {
          pixels[y * width + x] = colours[i][block % 5];
          blocks[y * width + x] = block;
        }
      }
    });
  });
  const g = canvas.getContext('2d')!;
  g.clearRect(0, 0, canvas.width, canvas.height);
  g.putImageData(image, Math.round(MARGIN.left * ratio), Math.round(MARGIN.top * ratio));
  return {width, height, ratio, top, columns, blocks};
}

export function paintLines(canvas: HTMLCanvasElement, step: Step, frame: Frame, theme: Theme, from: number, to: number): CanvasRenderingContext2D {
  const {ratio, width, height} = frame, w = width / ratio, h = height / ratio;
  const x = (event: number): number => MARGIN.left + (event - from) / (to - from) * w;
  const y = (bytes: number): number => MARGIN.top + h - bytes / frame.top * h;
  canvas.width = Math.round(canvas.getBoundingClientRect().width * ratio);
  canvas.height = Math.round(canvas.getBoundingClientRect().height * ratio);
  const g = canvas.getContext('2d')!;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.font = '11px system-ui, "DejaVu Sans", sans-serif';
  paintGrid(g, frame, theme, y, w, h);
  paintPhases(g, step, theme, x, w, h);
  g.setLineDash([2, 3]);
  g.strokeStyle = theme.quiet;
  g.beginPath();
  frame.columns.forEach((event, column) => g.lineTo(MARGIN.left + column / ratio, y(step.reserved[event])));
  g.stroke();
  const limit = step.data.limit;
  if (limit && limit <= frame.top) {
    g.setLineDash([6, 4]);
    g.strokeStyle = g.fillStyle = theme.bad;
    g.beginPath(); g.moveTo(MARGIN.left, y(limit)); g.lineTo(MARGIN.left + w, y(limit)); g.stroke();
  }
  g.setLineDash([]);
  const peak = step.highest(Math.max(0, Math.floor(from)), Math.min(step.count, Math.ceil(to)));
  if (limit && limit <= frame.top) {
    const left = x(peak) > MARGIN.left + w / 2;  // away from the peak, which has a label of its own
    g.fillStyle = theme.bad;
    g.textAlign = left ? 'left' : 'right';
    haloed(g, theme, 'what the GPU leaves to the allocator', left ? MARGIN.left + 6 : MARGIN.left + w - 6, Math.max(11, y(limit) - 5));
  }
  paintPeak(g, theme, x(peak + 0.5), y(step.totals[peak]), bytesText(step.totals[peak]), MARGIN.left + w);
  return g;
}

/** A text that is read on any colour. */
function haloed(g: CanvasRenderingContext2D, theme: Theme, text: string, x: number, y: number): void {
  g.strokeStyle = theme.card;
  g.lineWidth = 4;
  g.lineJoin = 'round';
  g.strokeText(text, x, y);
  g.lineWidth = 1;
  g.fillText(text, x, y);
}

function paintGrid(g: CanvasRenderingContext2D, frame: Frame, theme: Theme, y: (bytes: number) => number, w: number, h: number): void {
  const rough = frame.top / Math.max(2, h / 48), power = 2 ** Math.floor(Math.log2(rough));
  const unit = rough / power > 1.5 ? 2 * power : power;
  g.strokeStyle = theme.line;
  g.fillStyle = theme.quiet;
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (let bytes = 0; bytes < frame.top; bytes += unit) {
    const at = Math.round(y(bytes)) + 0.5;
    if (bytes > 0) { g.globalAlpha = 0.55; g.beginPath(); g.moveTo(MARGIN.left, at); g.lineTo(MARGIN.left + w, at); g.stroke(); g.globalAlpha = 1; }
    g.fillText(bytes === 0 ? '0' : bytesText(bytes).replace(/\.00 /, ' '), MARGIN.left - 6, at);
  }
  g.textBaseline = 'alphabetic';
}

function paintPhases(g: CanvasRenderingContext2D, step: Step, theme: Theme, x: (event: number) => number, w: number, h: number): void {
  const right = MARGIN.left + w, bottom = MARGIN.top + h;
  g.textAlign = 'left';
  for (const [phase, , from, to] of step.data.windows) {
    const a = Math.max(MARGIN.left, x(from)), b = Math.min(right, x(to));
    if (b <= a) continue;
    g.strokeStyle = theme.line;
    g.beginPath(); g.moveTo(Math.round(a) + 0.5, MARGIN.top); g.lineTo(Math.round(a) + 0.5, bottom + 5); g.stroke();
    g.fillStyle = theme.quiet;
    if (g.measureText(phase).width + 8 < b - a) g.fillText(phase, a + 5, bottom + 15);
  }
}

function paintPeak(g: CanvasRenderingContext2D, theme: Theme, x: number, y: number, text: string, right: number): void {
  g.fillStyle = theme.ink;
  g.beginPath(); g.moveTo(x, y - 2); g.lineTo(x - 4, y - 9); g.lineTo(x + 4, y - 9); g.fill();
  g.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
  const fits = x + g.measureText(text).width + 12 < right;
  g.textAlign = fits ? 'left' : 'right';
  haloed(g, theme, text, fits ? x + 8 : x - 8, Math.max(12, y - 4));
}
