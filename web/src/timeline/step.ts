// SPDX-License-Identifier: Apache-2.0
// One step of memory as the core tells it (src/report/html.cpp writes it): events, blocks and why each exists; and what is drawn of
// it. Bytes are exact; only pixels are rounded.
import {CATEGORIES} from '../categories';

export type Why = [category: number, phase: string, op: string, node: string, module: number, shape: number[], dtype: string, sentence: number];

export interface StepData {
  categories: string[];
  alive: number;                        // blocks 0 to alive - 1 live from the start
  events: number[];                     // n > 0 allocates block n - 1, n < 0 frees block -n - 1, 0 does neither
  reserved_at_start: number;
  reserved: [event: number, bytes: number][];
  windows: [phase: string, microBatch: number, from: number, to: number, stage: number][];
  sizes: number[];
  why: number[];
  whys: Why[];
  modules: string[];
  sentences: string[];
  limit: number | null;                 // what the device leaves to the allocator
  peak_event: number;
}

export class Step {
  readonly count: number;
  readonly levels: Float64Array[];      // by category: bytes after each event
  readonly totals: Float64Array;
  readonly reserved: Float64Array;
  readonly order: number[];             // categories that hold anything, from the bottom up
  private readonly categories: Uint8Array;  // by block

  constructor(readonly data: StepData) {
    this.count = data.events.length;
    this.categories = Uint8Array.from(data.why, w => data.whys[w][0]);
    this.levels = data.categories.map(() => new Float64Array(this.count));
    this.totals = new Float64Array(this.count);
    this.reserved = new Float64Array(this.count);
    const used = this.sumUp();
    const rank = new Map(CATEGORIES.map((c, i) => [c.name, i]));
    this.order = [...used].sort((a, b) => (rank.get(data.categories[a]) ?? 99) - (rank.get(data.categories[b]) ?? 99));
  }

  private sumUp(): Set<number> {
    const {events, sizes, alive, reserved, reserved_at_start} = this.data;
    const now = new Float64Array(this.levels.length), used = new Set<number>();
    for (let block = 0; block < alive; ++block) now[this.categories[block]] += sizes[block];
    let next = 0, held = reserved_at_start;
    for (let i = 0; i < this.count; ++i) {
      const block = Math.abs(events[i]) - 1;
      if (block >= 0) now[this.categories[block]] += events[i] > 0 ? sizes[block] : -sizes[block];
      let total = 0;
      now.forEach((bytes, c) => { this.levels[c][i] = bytes; total += bytes; if (bytes > 0) used.add(c); });
      this.totals[i] = total;
      while (next < reserved.length && reserved[next][0] <= i) held = reserved[next++][1];
      this.reserved[i] = held;
    }
    return used;
  }

  categoryOf(block: number): string {
    return this.data.categories[this.categories[block]];
  }

  /** The event of [from, to) after which most is alive. */
  highest(from: number, to: number): number {
    let best = from;
    for (let i = from + 1; i < to; ++i) if (this.totals[i] > this.totals[best]) best = i;
    return best;
  }

  /** For each pixel column of [from, to) the event that it shows: the highest of those that fall into it. */
  columns(width: number, from: number, to: number): Int32Array {
    const at = new Int32Array(width), span = to - from;
    for (let x = 0; x < width; ++x) {
      const a = Math.min(this.count - 1, Math.floor(from + span * x / width));
      at[x] = this.highest(a, Math.min(this.count, Math.max(a + 1, Math.floor(from + span * (x + 1) / width))));
    }
    return at;
  }

  /** Calls `paint(x, blocks)` for each column with the blocks alive there, by category from the bottom and by age. */
  walk(columns: Int32Array, paint: (x: number, blocks: number[][]) => void): void {
    const {events, alive} = this.data;
    const stacks: number[][] = this.levels.map(() => []);
    for (let block = 0; block < alive; ++block) stacks[this.categories[block]].push(block);
    let at = 0;
    columns.forEach((event, x) => {
      for (; at <= event; ++at) {
        const block = Math.abs(events[at]) - 1;
        if (block < 0) continue;
        const stack = stacks[this.categories[block]];
        if (events[at] > 0) stack.push(block);
        else stack.splice(stack.lastIndexOf(block), 1);
      }
      paint(x, this.order.map(c => stacks[c]));
    });
  }

  phaseAt(event: number): string {
    return this.data.windows.find(w => w[2] <= event && event < w[3])?.[0] ?? '';
  }

  /** What a block is, for people. */
  told(block: number): {title: string; why: string; category: string; bytes: number} {
    const [, , op, , module, shape, dtype, sentence] = this.data.whys[this.data.why[block]];
    const name = this.data.modules[module] || op || 'the top level';
    return {title: `${name} ${shape.length ? `[${shape.join(', ')}]` : ''} ${dtype}`.trim(), category: this.categoryOf(block),
      why: this.data.sentences[sentence].replaceAll('{module}', this.data.modules[module] || 'the top level'), bytes: this.data.sizes[block]};
  }
}
