// SPDX-License-Identifier: Apache-2.0
// What is known by name: the answers of `memtape models` and `memtape gpus`, made once a build.
export interface Model {
  id: string;
  family: string;
  parameters: number;
  supported: boolean;
}

export interface Gpu {
  id: string;
  name: string;
  vendor: string;
  architecture: string;
  total_bytes: number;
}

export interface Catalog {
  version: string;
  models: Model[];
  gpus: Gpu[];
  releases: Record<string, string[]>;  // of torch, with transformers, and of each engine: as --with takes them, the newest first
  documents: {file: string; title: string}[];
  source: string;  // where the source lies, or ""
}

export async function loadCatalog(): Promise<Catalog> {
  const response = await fetch('./catalog.json');
  if (!response.ok) throw new Error(`catalog.json: ${response.status} ${response.statusText}`);
  return response.json();
}

/** Whether `text` holds every word of `query`, each letter in order, in any case. */
export function matches(text: string, query: string): boolean {
  const folded = text.toLowerCase();
  return query.toLowerCase().split(/\s+/).every(word => folded.includes(word));
}
