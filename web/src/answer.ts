// SPDX-License-Identifier: Apache-2.0
// The answer's JSON (docs/json.md) as far as the page reads it.
export interface Rank {
  ranks: number[];
  stage: number;
  peak_allocated_bytes: number;
  peak_reserved_bytes: number;
  peak_device_bytes: number;
  peak_phase?: string;
  peak_moment?: {event: number; module: string; op: string; node: string};
  at_peak: Record<string, number>;
  phases: Record<string, {peak_requested_bytes: number; peak_allocated_bytes: number; peak_reserved_bytes: number}>;
  largest?: Largest[];
  kv_cache?: KvCache;
}

export interface Largest {
  category: string;
  module: string;
  op: string;
  shape: number[];
  dtype: string;
  count: number;
  bytes: number;
  why: string;
}

export interface KvCache {
  bytes_per_token: number | null;
  block_size: number;
  num_blocks: number;
  tokens: number;
  max_concurrency: number | null;
  bytes: number;
}

export interface Advice {
  change: string;
  command: string;
  peak_device_bytes: number;
  cost: string;
  fits: boolean;
  gives_back?: boolean;
}

export interface Rule {
  name: string;
  formula?: string;
  source?: string;
  says_bytes: number;
  exact_bytes: number;
  of: string;
  why?: string;
}

export type Verdict = 'fits' | 'does not fit' | 'may not fit';

export interface Answer {
  command: 'train' | 'serve';
  engine?: string;
  model: {id: string; family: string; parameters: number; trainable_parameters: number; weight_bytes: number};
  workload: Record<string, unknown>;
  device: {name: string; total_bytes: number; id?: string; source: string} | null;
  ranks: Rank[];
  peak_rank: number;
  fits: boolean | null;
  verdict: Verdict | null;
  headroom_bytes: number | null;
  needed_bytes?: number; // of a training: the figure that the verdict rests on
  within_limit_bytes?: number | null;
  failure: null | string | {phase: string; module: string; op: string; requested_bytes: number};
  bounds: {low_bytes: number; high_bytes: number; causes: string[]};
  kv_cache?: KvCache;
  users?: {asked: number | null; context: number; output: number; fit: number; bytes_per_user: number};
  advice: Advice[];
  rules?: Rule[];
  notes?: string[];
  doubt?: string | null;
  warnings: string[];
}

export interface Compared {
  gpu: string;
  total_bytes?: number;
  peak_device_bytes?: number;
  without_limit_bytes?: number | null;
  headroom_bytes?: number | null;
  fits?: boolean;
  verdict?: Verdict;
  reason?: string;
  failure?: string;
}

export interface Comparison {
  compared: Compared[];
  winner: number | null;
}

/** One line: what, where, what would be right. */
export interface Refusal {
  what: string;
  where: string;
  hint: string;
}

/** The figure that the verdict rests on. */
export const needed = (answer: Answer): number => answer.needed_bytes ?? fullest(answer)?.peak_device_bytes ?? 0;

/** The verdict in words, with what it rests on. */
export const verdictWords = (verdict: Verdict | null | undefined, givesBack: boolean): string =>
  (verdict ?? '') + (givesBack ? ', cached segments given back' : '');

export const fullest = (answer: Answer): Rank | null =>
  answer.ranks.reduce<Rank | null>((a, b) => (a && a.peak_device_bytes >= b.peak_device_bytes ? a : b), null);
