// SPDX-License-Identifier: Apache-2.0
// Rows of tests/truth as requests: the words of a command, and the files that they name, by name. A row names its configurations in
// its words as "{config}" and "{assistant}", and says them as objects or as names of configs/models.jsonl, as tests/truth_rows.py reads them.
import {readFileSync, readdirSync} from 'node:fs';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';

const truth = new URL('../../tests/truth/', import.meta.url).pathname;
const sideFiles = ['config', 'assistant'];

function linesOf(name) {
  const bytes = readFileSync(join(truth, name)), text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  return text.split('\n').filter(Boolean).map(line => JSON.parse(line));
}

const configs = new Map(linesOf('configs/models.jsonl').map(({name, config}) => [name, config]));

/** A row's configuration as the text of a file. */
function textOf(row, name) {
  const said = row[name] ?? {};
  if (typeof said === 'string' && !configs.has(said)) throw new Error(`${row.id}: ${said} is no configuration of configs/models.jsonl`);
  return JSON.stringify(typeof said === 'string' ? configs.get(said) : said);
}

/** Requests that another file is needed for are the program's alone. */
const needsFiles = args => args.some(a => /^[./~]|\.(json|safetensors|gguf|toml|ya?ml)$/.test(a)) || args.includes('--real') || args.includes('--');

function requestOf(row) {
  const named = sideFiles.filter(name => row.args.some(word => word.includes(`{${name}}`)));
  const args = row.args.map(word => named.reduce((made, name) => made.replaceAll(`{${name}}`, `${name}.json`), word));
  return {args, files: Object.fromEntries(named.map(name => [`${name}.json`, textOf(row, name)]))};
}

/** Of all files of rows, those that are a command of train or serve. */
export const truthRequests = () =>
  readdirSync(truth).filter(name => /\.jsonl(\.gz)?$/.test(name)).sort().flatMap(linesOf)
    .filter(row => Array.isArray(row.args) && !needsFiles(row.args)).map(requestOf);
