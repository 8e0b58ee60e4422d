// SPDX-License-Identifier: Apache-2.0
// catalog.mjs MODULE OUTPUT DOCUMENTS: what is known by name, as the module answers `models` and `gpus`, for the page to search before the
// module is there. DOCUMENTS: what documents.mjs printed. MEMTAPE_SOURCE: the address of the source, for the foot of the page.
import {readFile, writeFile} from 'node:fs/promises';
import {loadCore} from './core.mjs';
import {knownReleases} from './releases.mjs';

const [module, output, documents] = process.argv.slice(2);
const core = await loadCore(module);
const ask = command => JSON.parse(core.answer(JSON.stringify({argv: [command]})).text);
const gpus = ask('gpus').gpus.map(({id, name, vendor, architecture, total_bytes}) => ({id, name, vendor, architecture, total_bytes}));
const [, version] = /^project\(\w+ VERSION (\S+)/m.exec(await readFile(new URL('../../CMakeLists.txt', import.meta.url), 'utf8'));
await writeFile(output, JSON.stringify({version, models: ask('models').models, gpus, releases: await knownReleases(), documents: JSON.parse(documents), source: process.env.MEMTAPE_SOURCE ?? ''}));
