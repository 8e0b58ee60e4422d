// SPDX-License-Identifier: Apache-2.0
// Numbers as people read them. Bytes are whole numbers up to here; only these lines round.
export const GIB = 2 ** 30;

export function bytesText(bytes: number): string {
  const size = Math.abs(bytes);
  if (size >= 1024 * GIB) return `${(bytes / 1024 / GIB).toFixed(2)} TiB`;
  if (size >= GIB) return `${(bytes / GIB).toFixed(2)} GiB`;
  if (size >= 2 ** 20) return `${(bytes / 2 ** 20).toFixed(2)} MiB`;
  if (size >= 1024) return `${(bytes / 1024).toFixed(2)} KiB`;
  return `${bytes} B`;
}

export const exactBytes = (bytes: number): string => `${bytes.toLocaleString('en-US')} bytes`;

export const countText = (count: number): string => count.toLocaleString('en-US');

/** 8190735360 -> "8.19 B" */
export function parametersText(count: number): string {
  if (count >= 1e12) return `${(count / 1e12).toFixed(2)} T`;
  if (count >= 1e9) return `${(count / 1e9).toFixed(count < 1e10 ? 2 : 1)} B`;
  return `${(count / 1e6).toFixed(count < 1e8 ? 1 : 0)} M`;
}

/** [0, 1, 2, 3, 8] -> "0-3, 8" */
export function rangesText(numbers: readonly number[]): string {
  const runs: [number, number][] = [];
  for (const n of numbers) {
    const last = runs.at(-1);
    if (last && last[1] + 1 === n) last[1] = n;
    else runs.push([n, n]);
  }
  return runs.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(', ');
}

/** Words as a POSIX shell reads them back. */
export function shellText(words: readonly string[]): string {
  return words.map(w => (/^[\w@%+=:,./-]+$/.test(w) ? w : `'${w.replaceAll("'", "'\\''")}'`)).join(' ');
}

/** The words of a command line, quotes read as a POSIX shell does; null where a quote is left open. */
export function shellWords(text: string): string[] | null {
  const words: string[] = [];
  const piece = /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^\s'"\\]+)|(\s+)|(.)/gsy;
  let word: string | null = null;
  for (const [, single, double, escaped, plain, space, other] of text.matchAll(piece)) {
    if (other !== undefined) return null;
    if (space !== undefined) {
      if (word !== null) words.push(word);
      word = null;
      continue;
    }
    word = (word ?? '') + (single ?? double?.replace(/\\(["\\$`])/g, '$1') ?? escaped ?? plain);
  }
  if (word !== null) words.push(word);
  return words;
}

/** 0.0312 -> "31 ms" */
export function secondsText(seconds: number): string {
  if (seconds < 0.0995) return `${(seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0)} ms`;
  if (seconds < 120) return `${seconds.toFixed(seconds < 9.95 ? 2 : 1)} s`;
  return `${(seconds / 60).toFixed(1)} min`;
}

export const moneyText = (amount: number): string => amount.toFixed(amount < 0.1 ? 4 : 2);
