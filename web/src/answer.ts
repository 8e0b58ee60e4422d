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

/** From one speed to another: what the estimate is sure of. */
export interface Span {
  low: number;
  mid: number;
  high: number;
}

export interface Plan {
  rank: number;
  layout: Record<string, string>;
  framework?: string;
  gpus: number;
  step_seconds?: Span;
  ttft_seconds?: Span;
  tpot_seconds?: Span;
  users?: number;
  tokens_per_second: number;
  mfu?: number | null;
  peak_device_bytes: number;
  headroom_bytes: number;
  fits: boolean;
  verdict: Verdict;
  cost_per_hour?: number;
  sacrifice?: string;
  missing_bytes?: number;
  command: string[];
}

export interface Plans {
  command: 'plan';
  question: 'train' | 'serve';
  device: {name: string; total_bytes: number} | null;
  plans: Plan[];
  why_not: Plan[];
  screened: number;
  confirmed: number;
  warnings: string[];
}

export interface FittingModel {
  id: string;
  family: string;
  parameters: number;
  quantize?: string;
  method?: string;
  context?: number;
  sequence_length?: number;
  longest?: number | null;
  where?: 'gpu' | 'partly' | 'host';
  peak_device_bytes: number;
  host_bytes?: number;
  verdict: Verdict;
  note?: string;
  command: string[];
}

export interface Fits {
  command: 'fits';
  task: 'chat' | 'train';
  device: {name: string; total_bytes: number} | null;
  models: FittingModel[];
  too_large: string[];
  not_modelled: {id: string; failure: string}[];
}

export interface Remedy {
  change: string;
  effect: string;
  bytes: number | null;
  is_enough: boolean;
}

export interface Oom {
  line: number;
  gpu: number | null;
  requested_bytes: number | null;
  device_bytes: number | null;
  free_bytes: number | null;
  process_bytes: number | null;
  allocated_bytes: number | null;
  reserved_unallocated_bytes: number | null;
  other_processes: {pid: number; bytes: number}[];
}

export interface Recorded {
  name: string;
  gpu: number;
  events: number;
  exact: boolean;
  peak_allocated_bytes: number;
  peak_reserved_bytes: number;
  at_peak: Record<string, number>;
  largest: {category: string; place: string; op: string; count: number; bytes: number; stack: string[]}[];
  fragmentation: {free_bytes: number; largest_hole_bytes: number; segments: number};
  replayed: {setting: string; peak_reserved_bytes: number; serves: boolean | null}[];
  oom?: Partial<Oom> & {place?: string};
  advice: Remedy[];
}

export interface Explained {
  command: 'explain';
  kind: string;
  files: string[];
  messages: {oom: Oom; findings: string[]; advice: Remedy[]}[];
  recordings: Recorded[];
  figures: {program: string; name: string; where: string; unit: string; last: number; highest: number; line: number}[];
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
  command: 'train' | 'serve';
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

/** What the page shows, told apart by what it holds. */
export type AnyAnswer = Answer | Plans | Fits | Explained | Comparison;
export const isComparison = (a: AnyAnswer): a is Comparison => 'compared' in a;
export const isPlans = (a: AnyAnswer): a is Plans => a.command === 'plan';
export const isFits = (a: AnyAnswer): a is Fits => a.command === 'fits';
export const isExplained = (a: AnyAnswer): a is Explained => a.command === 'explain';

/** The cards on which it fits, the smallest first. */
export const fitting = (table: Comparison): Compared[] =>
  table.compared.filter(c => c.verdict === 'fits').sort((a, b) => (a.total_bytes ?? 0) - (b.total_bytes ?? 0));
