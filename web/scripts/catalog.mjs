// SPDX-License-Identifier: Apache-2.0
// catalog.mjs MODULE OUTPUT: what is known by name, as the module answers `models` and `gpus`, for the page to search before the
// module is there.
import {writeFile} from 'node:fs/promises';
import {loadCore} from './core.mjs';

const [module, output] = process.argv.slice(2);
const core = await loadCore(module);
const ask = command => JSON.parse(core.answer(JSON.stringify({argv: [command]})).text);
const gpus = ask('gpus').gpus.map(({id, name, vendor, architecture, total_bytes}) => ({id, name, vendor, architecture, total_bytes}));
await writeFile(output, JSON.stringify({models: ask('models').models, gpus}));
