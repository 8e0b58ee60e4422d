// SPDX-License-Identifier: Apache-2.0
// compress.mjs FOLDER: a .gz and a .br beside each larger file, for servers that send such, and what the first answer takes to load.
import {readFile, readdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {brotliCompressSync, constants, gzipSync} from 'node:zlib';

const LEAST = 1024;
const folder = process.argv[2];
const sums = {plain: 0, gzip: 0, brotli: 0};
for (const entry of await readdir(folder, {recursive: true, withFileTypes: true})) {
  if (!entry.isFile() || /\.(gz|br)$/.test(entry.name)) continue;
  const path = join(entry.parentPath ?? entry.path, entry.name), bytes = await readFile(path);
  const gzip = gzipSync(bytes, {level: 9});
  const brotli = brotliCompressSync(bytes, {params: {[constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length}});
  if (!path.startsWith(join(folder, 'docs'))) {
    sums.plain += bytes.length;
    sums.gzip += gzip.length;
    sums.brotli += brotli.length;
  }
  if (bytes.length < LEAST) continue;
  await writeFile(path + '.gz', gzip);
  await writeFile(path + '.br', brotli);
  if (!path.startsWith(join(folder, 'docs'))) console.error(`${entry.name}: ${bytes.length} bytes, gzip ${gzip.length}, brotli ${brotli.length}`);
}
console.error(`all but the documents: ${sums.plain} bytes, gzip ${sums.gzip}, brotli ${sums.brotli}`);
