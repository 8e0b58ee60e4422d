// SPDX-License-Identifier: Apache-2.0
// A card by its name, or by the size that one types: "24 GB", "24GiB".
const SIZE = /^(\d{1,5}(?:\.\d{1,3})?)\s*(gib|gb|g)$/i;

/** A typed size as the command line takes it; cards are sold in GB and hold GiB, so both mean GiB here. */
export function sizeOf(typed: string): string | null {
  const found = SIZE.exec(typed.trim());
  return found && Number(found[1]) > 0 ? `${found[1]}GiB` : null;
}

export const gpuWords = (gpu: string): string[] => {
  const size = sizeOf(gpu);
  return size ? ['--gpu-memory-bytes', size] : gpu ? ['--gpu', gpu] : [];
};

/** What a picker offers for a typed size. */
export function sizeItem(typed: string): {id: string; title: string; detail: string} | null {
  const size = sizeOf(typed);
  return size === null ? null : {id: size, title: `any card of ${size.replace('GiB', ' GiB')}`, detail: 'by its size'};
}
